import { join } from '../zookeeper/path.js';
import { expected } from '../support/validate.js';
import type { Session } from '../zookeeper/session.js';
import { ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import { Grant } from './grant.js';
import type { Listing } from './listing.js';
import { nodesOf, type LockNode, type WakeReason } from './lock-node.js';
import type { ZnodeQueue } from './znode-queue.js';
import type { Deadline } from './deadline.js';
import { nextNews } from './plant-watch.js';
import { reconnected } from './reconnected.js';

/**
 * One znode's way through the queue, in one session, step by step: what waits between two steps may do so ten thousandfold, and is small. A znode
 * that is not granted in the end is deleted in the background.
 */
export class Attempt {
  readonly #queue: ZnodeQueue;
  readonly #node: LockNode;
  readonly #deadline: Deadline;
  readonly #unusual: Unusual;
  #isQueued = false;

  constructor(queue: ZnodeQueue, session: Session, deadline: Deadline, unusual: Unusual) {
    this.#queue = queue;
    this.#node = queue.newNode(session);
    this.#deadline = deadline;
    this.#unusual = unusual;
  }

  /** `begin`, for no longer than the deadline lasts. */
  beginInTime(): Promise<Step> {
    return this.#deadline.limit(() => this.begin(), (late) => this.#late(late));
  }

  /** `goOn`, for no longer than the deadline lasts. */
  goOnInTime(waiting: Waiting, reason: WakeReason): Promise<Step> {
    return this.#deadline.limit(() => this.goOn(waiting, reason), (late) => this.#late(late));
  }

  /** Queues up. */
  begin(): Promise<Step> {
    const { downgradeOf: beside, enter } = this.#unusual;
    if (enter) return this.#stepped(this.#enter(enter));
    return this.#stepped(beside ? this.#downgrade(beside) : this.#queueUp());
  }

  /**
   * Resolves when the predecessor is gone, or when there is a reason to look again: our own znode, the session, other news. Rejects as soon as the
   * deadline is over.
   */
  waitForPredecessor({ predecessor, isAdjacent: isNext, predecessorIsFirst: isSecond }: Waiting): Promise<WakeReason> {
    const node = this.#node;
    const local = nodesOf(node.session).get(predecessor);
    node.hasWaited = local === undefined;
    // Whoever is handed over to, or has to look again, learns by that whether its znode is there.
    if (local || !isSecond) node.watch.plantForWaiter();
    else node.watch.plant();
    return this.#deadline.waitAs<WakeReason>((waiter) => {
      node.wait(waiter);
      if (local && isNext && local.isOfOneKindWith(node)) {
        node.follow(local);
        return node;
      }
      const stop = local
        ? local.onGone(() => waiter.wake(local.wasGranted && local.isOfOneKindWith(node) ? 'holder-deleted' : 'predecessor-deleted'))
        : nextNews(node.session, predecessor, { told: (event) => waiter.wake(event === 'deleted' ? 'predecessor-deleted' : 'recheck'), failed: (error) => waiter.fail(error) });
      return { waitNoMore: () => (stop(), node.waitNoMore()) };
    });
  }

  /** The grant, if the news say enough by themselves and nothing else is needed: for most, this is the whole way from being woken to the lock. */
  tryGrantWithoutList(waiting: Waiting, reason: WakeReason): Outcome | undefined {
    if (!this.#isNow(waiting, reason) || this.#needsProof() || this.#deadline.isExpired || !this.#node.session.isAlive()) return undefined;
    return this.#mayBeGranted ? this.#granted() : undefined;
  }

  /** What becomes of it after it was woken. */
  goOn(waiting: Waiting, reason: WakeReason): Promise<Step> {
    return this.#stepped(this.#isNow(waiting, reason) ? this.#grant() : this.#place(undefined));
  }

  /** Why it ends, in the words of the lock. */
  failed(error: unknown): unknown {
    this.#delete();
    return this.#queue.explained(error);
  }

  /** It has come to this when nobody waits for it any more. */
  #late(step: Step): void {
    if (step.is === 'granted') void step.grant.release();
    else if (step.is === 'waiting') this.#delete();
  }

  #delete(): void {
    const gone = this.#node.delete();
    this.#unusual.discarded?.(gone);
  }

  /**
   * Without a list, "gone" means "we are next" in two cases, since nothing can have been inserted before us. The predecessor was the first of
   * our list; or it was a holder in this process: then it was the first when it was granted, whenever our list was. Our own znode has to be there: the
   * hand-over checks that, or else a watch has to look after it, on this connection, since after a reconnect the events are replayed in no order.
   */
  #isNow({ isAdjacent: isNext, predecessorIsFirst: isSecond }: Waiting, reason: WakeReason): boolean {
    if (!isNext || reason === 'recheck') return false;
    if (reason === 'handed-over') return true;
    return this.#node.isDeletionWatched && (reason === 'holder-deleted' || (isSecond && this.#node.session.isConnected));
  }

  async #stepped(steps: Promise<Step>): Promise<Step> {
    try {
      const step = await steps;
      if (step.is !== 'granted' && step.is !== 'waiting') this.#delete();
      return step;
    } catch (error) {
      throw this.failed(error);
    }
  }

  async #enter(enter: (node: LockNode) => Promise<Entered>): Promise<Step> {
    const entered = await enter(this.#node);
    return entered.is === 'entered' ? this.#grant(entered.fencingToken) : entered;
  }

  /** The create alone decides: its transaction has seen what is held, so nobody can be in front of it. */
  async #downgrade(held: Grant): Promise<Step> {
    const { client, options } = this.#queue;
    try {
      if (!(await this.#node.createAtPlaceOf(held.node, this.#unusual.data ?? options.data(), client.options.aclFor))) return { is: 'over' };
    } catch (error) {
      if (!(error instanceof ZooKeeperError && error.isRetryable)) throw error;
      if (!(await this.#queue.findAgain(this.#node.session, this.#node, this.#deadline))) return { is: 'over' };
    }
    return this.#grant(held.fencingToken);
  }

  async #queueUp(): Promise<Step> {
    const node = this.#node;
    const joined = await this.#queue.join(node, this.#deadline, this.#unusual.data);
    if (joined.is === 'not created') return { is: 'over' };
    this.#queue.refuseOverflow(node);
    if (joined.is === 'listed') return this.#place(joined.listing);
    const { before } = joined;
    // Where it had the lock and has let it go, nobody was before it.
    if (before.isGone) return before.wasGranted ? this.#grant() : this.#place(undefined);
    return { is: 'waiting', predecessor: before.path, isAdjacent: true, predecessorIsFirst: false };
  }

  async #place(listing: Listing | undefined): Promise<Step> {
    const node = this.#node;
    const { session } = node;
    for (;;) {
      this.#deadline.check();
      if (session.isEnded) return { is: 'over' };
      if (!this.#mayBeGranted) return { is: 'vanished' };
      // A server that lags behind our create cannot say who is before us.
      if (listing === undefined || listing.zxid < node.czxid) {
        if (!this.#deadline.mayWait && !session.isConnected) return { is: 'taken' };
        listing = await this.#queue.listAgain(session, this.#deadline, { mustCatchUp: listing !== undefined });
        continue;
      }
      const place = this.#placeIn(listing);
      if (place.is === 'held') return this.#grant();
      if (place.is === 'vanished') return place;
      if (!this.#deadline.mayWait) return { is: 'taken' };
      if (!this.#isQueued) this.#queue.options.queued?.(place.index, join(this.#queue.path, node.name));
      this.#isQueued = true;
      const { news } = this.#unusual;
      if (!news) return place.waiting();
      if ((await news({ session, sorted: place.sorted, index: place.index }, this.#deadline)) === 'over') return { is: 'over' };
      listing = undefined;
    }
  }

  #placeIn(listing: Listing): Standing {
    const { options, root } = this.#queue;
    const { driver } = options;
    const { sorted, foreign } = listing.queue(driver);
    this.#queue.refuseForeign(foreign);
    const index = sorted.indexOf(this.#node.name);
    if (index < 0) return { is: 'vanished' };
    const decision = driver.decide(sorted, this.#node.name);
    if (decision.held) return { is: 'held' };
    const { watch } = decision;
    return {
      is: 'queued',
      index,
      sorted,
      waiting: () => {
        refuseWatch(sorted, index, watch);
        const isNext = watch === sorted[index - 1] && this.#queue.isAppendOnly(this.#node);
        const path = join(root, watch);
        // The same string, not another one, for each of ten thousand.
        const predecessor = nodesOf(this.#node.session).get(path)?.path ?? path;
        return { is: 'waiting', predecessor, isAdjacent: isNext, predecessorIsFirst: index === 1 };
      },
    };
  }

  async #grant(fencingToken = this.#node.czxid): Promise<Step> {
    const { session } = this.#node;
    // A hold that is about to expire would be lost as soon as it is granted: the session proves first that it lives. Its znode may be
    // deleted meanwhile, and the lock be somebody else's: the watch's answer, or its event, comes before the proof.
    if (this.#needsProof()) this.#node.watch.plant();
    while (!session.isEnded && this.#needsProof()) {
      if (!this.#deadline.mayWait && !session.isConnected) return { is: 'taken' };
      if (await reconnected(session, this.#deadline)) await session.prove().catch(ignore);
      if (this.#needsProof()) await this.#queue.pause(this.#deadline, session.proofPauseMs);
    }
    this.#deadline.check();
    if (!session.isAlive()) return { is: 'over' };
    return this.#mayBeGranted ? this.#granted(fencingToken) : { is: 'vanished' };
  }

  #granted(fencingToken = this.#node.czxid): Outcome {
    return { is: 'granted', grant: new Grant(this.#node, join(this.#queue.path, this.#node.name), { fencingToken }) };
  }

  get #mayBeGranted(): boolean {
    return !this.#node.isGone && this.#node.mark !== 'force';
  }

  #needsProof(): boolean {
    return !this.#node.session.hasTimeToGrant;
  }
}

/** Where a waiter stands. */
export interface Place {
  readonly session: Session;
  readonly sorted: readonly string[];
  readonly index: number;
}

/** Waits for a reason to look again, or to start `over`. */
export type News = (place: Place, deadline: Deadline) => Promise<'look' | 'over'>;

/** How a try differs from that of a mutex. */
export interface Unusual {
  /** What is written into the znode instead of the usual. */
  readonly data?: Uint8Array | undefined;
  /** What the same owner holds in the same queue, and is let in beside. */
  readonly downgradeOf?: Grant | undefined;
  /** What is waited for instead of the predecessor's end. */
  readonly news?: News;
  /** The znode was not granted; `gone` resolves when it is gone. */
  readonly discarded?: (gone: Promise<void>) => void;
  /** Stands for the whole wait, from the create on. */
  readonly enter?: (node: LockNode) => Promise<Entered>;
}

/** What the servers have said of a znode that waits in a way of its own: the lock is its, by this transaction; or why not. */
export type Entered = { readonly is: 'entered'; readonly fencingToken: bigint } | Exclude<Outcome, { is: 'granted' }>;

export type Outcome =
  | { readonly is: 'granted'; readonly grant: Grant }
  /** Somebody is before us, and we do not wait. */
  | { readonly is: 'taken' }
  /** Our znode is not in the list: the retry policy decides. */
  | { readonly is: 'vanished' }
  /** The session ended, or the create was never executed: there is nothing to lose by starting over. */
  | { readonly is: 'over' };

export interface Waiting {
  readonly is: 'waiting';
  /** The path of the znode that is waited for. */
  readonly predecessor: string;
  /** It comes right behind its predecessor, and nobody can be inserted between. */
  readonly isAdjacent: boolean;
  /** The predecessor was the first of the list. */
  readonly predecessorIsFirst: boolean;
}

export type Step = Outcome | Waiting;

/** Where our znode stands in a list. */
type Standing =
  | { readonly is: 'vanished' }
  | { readonly is: 'held' }
  | { readonly is: 'queued'; readonly index: number; readonly sorted: readonly string[]; waiting(): Waiting };

/** A driver that names somebody else would have us wait for nothing, or look again without end. */
function refuseWatch(sorted: readonly string[], index: number, watch: string): void {
  const isBefore = watch === sorted[index - 1] || sorted.slice(0, index).includes(watch);
  if (!isBefore) throw new TypeError(expected("what driver.decide says to watch", 'a child that is before ours', watch));
}

function ignore(): void {
  // What failed here shows again as a change of state.
}
