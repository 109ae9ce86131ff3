import { join } from '../zookeeper/path.js';
import { watchZnode } from '../zookeeper/watch-znode.js';
import type { Session } from '../zookeeper/session.js';
import { ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import { Grant } from './grant.js';
import { rememberHolder } from './known-holder.js';
import { LockTimeoutError } from './lock-errors.js';
import { nodesOf, type LockNode, type WakeReason } from './lock-node.js';
import type { Queued, QueueView } from './queue-view.js';
import type { Behind, ZnodeQueue } from './znode-queue.js';
import type { Deadline, Wait } from '../support/deadline.js';

/**
 * One znode's way through the queue, in one session, step by step. A znode that is not granted in the end is deleted in
 * the background. Ten thousand attempts may wait between two steps, so
 * each is small.
 */
export class Attempt {
  readonly #queue: ZnodeQueue;
  readonly #node: LockNode;
  readonly #deadline: Deadline;

  constructor(queue: ZnodeQueue, session: Session, deadline: Deadline) {
    this.#queue = queue;
    this.#node = queue.newNode(session);
    this.#deadline = deadline;
  }

  /** `begin`, for no longer than the deadline lasts. */
  beginInTime(options: AttemptOptions): Promise<Step> {
    return this.#deadline.limit(
      () => this.begin(options),
      (late) => this.#late(late),
    );
  }

  /** `goOn`, for no longer than the deadline lasts. */
  goOnInTime(waiting: Waiting, reason: WakeReason): Promise<Step> {
    return this.#deadline.limit(
      () => this.goOn(waiting, reason),
      (late) => this.#late(late),
    );
  }

  /** Creates the znode, and finds its place. */
  begin({ data, downgradeOf }: AttemptOptions): Promise<Step> {
    return this.#stepped(downgradeOf ? this.#downgrade(downgradeOf, data) : this.#queueUp(data));
  }

  /**
   * Resolves when the predecessor is gone, or when there is another reason to look again: the znode itself, the
   * session, the lock's own znode. Rejects as soon as the
   * deadline is over.
   */
  waitForPredecessor({ predecessor, isAdjacent, position, lockData }: Waiting): Promise<WakeReason> {
    const node = this.#node;
    const local = nodesOf(node.session).get(predecessor);
    node.hasWaited = local === undefined;
    // A waiter that is granted only after another look learns by that look whether its znode is there.
    if (lockData === undefined && (local || (position !== undefined && position > 1))) node.watch.plantForWaiter();
    else node.watch.plant();
    return this.#deadline.waitAs<WakeReason>((waiter) => {
      node.wait(waiter);
      if (local && isAdjacent && local.isOfOneKindWith(node)) {
        node.follow(local);
        return node;
      }
      const stop = local
        ? local.onGone(() =>
            waiter.wake(local.wasGranted && local.isOfOneKindWith(node) ? 'holder-deleted' : 'predecessor-deleted'),
          )
        : watchZnode(node.session, predecessor, 'data', {
            found: position === 1 ? (znode) => rememberHolder(node.session, predecessor, znode) : undefined,
            told: (event) => waiter.wake(event === 'deleted' ? 'predecessor-deleted' : 'recheck'),
            failed: (error) => waiter.fail(error),
          });
      return this.#waitBy(stop, lockData === undefined ? undefined : this.#watchLockData(lockData, waiter));
    });
  }

  /**
   * The grant, if the reason says enough by itself and nothing else is needed: for most waiters, this is the whole way
   * from being woken to the lock.
   */
  tryGrantWithoutList(waiting: Waiting, reason: WakeReason): Outcome | undefined {
    if (
      !this.#isNow(waiting, reason) ||
      this.#needsProof() ||
      this.#deadline.isExpired ||
      !this.#node.session.isAlive()
    )
      return undefined;
    return this.#mayBeGranted ? this.#granted() : undefined;
  }

  /** The next step after it was woken. */
  goOn(waiting: Waiting, reason: WakeReason): Promise<Step> {
    return this.#stepped(this.#isNow(waiting, reason) ? this.#grant() : this.#place(undefined, { wasQueued: true }));
  }

  /** Deletes the znode. @returns the error in the words of the lock */
  failed(error: unknown, step?: Step): unknown {
    const known =
      error instanceof LockTimeoutError
        ? error.with({ position: this.#positionAt(step) })
        : this.#queue.explained(error);
    void this.delete();
    return known;
  }

  /**
   * As it was told; else how many of this process's own are before it, where the first of them holds the lock;
   * undefined where others may stand between.
   */
  #positionAt(step: Step | undefined): number | undefined {
    if (step?.is === 'waiting' && step.position !== undefined) return step.position;
    for (const holding of this.#node.session.holdings) {
      const position = holding instanceof Grant ? holding.node.stepsTo(this.#node) : undefined;
      if (position !== undefined) return position;
    }
    return undefined;
  }

  /** Deletes the znode in the background; resolves when it is gone, or its session is over. */
  delete(): Promise<void> {
    return this.#node.delete();
  }

  /** The step finished after the deadline: release the grant, or delete the znode. */
  #late(step: Step): void {
    if (step.is === 'granted') void step.grant.release();
    else if (step.is === 'waiting') void this.delete();
  }

  #waitBy(...stops: readonly ((() => void) | undefined)[]): Wait {
    return {
      waitNoMore: () => {
        for (const stop of stops) stop?.();
        this.#node.waitNoMore();
      },
    };
  }

  /** Wakes the waiter when a transaction after `mzxid` has written the lock's data, or may have. */
  #watchLockData(mzxid: bigint, waiter: { wake(reason: WakeReason): void; fail(error: unknown): void }): () => void {
    const recheck = (): void => waiter.wake('recheck');
    return watchZnode(this.#node.session, this.#queue.path, 'data', {
      found: ({ stat }) => {
        if (stat.mzxid !== mzxid) recheck();
      },
      told: recheck,
      lost: recheck,
      failed: (error) => waiter.fail(error),
    });
  }

  /**
   * Without a list, "gone" means "we are next" in two cases, since nothing can have been inserted before the waiter.
   * The predecessor was the first of
   * the list; or it was a holder in this process: then it was the first when it was granted, whenever the list was. The
   * waiter's own znode has to be there: the
   * hand-over checks that, or else a watch has to look after it, on this connection, since after a reconnect the events
   * are replayed in no order.
   */
  #isNow({ isAdjacent, position }: Waiting, reason: WakeReason): boolean {
    if (!isAdjacent || reason === 'recheck') return false;
    if (reason === 'handed-over') return true;
    return (
      this.#node.isDeletionWatched &&
      (reason === 'holder-deleted' || (position === 1 && this.#node.session.isConnected))
    );
  }

  async #stepped(steps: Promise<Step>): Promise<Step> {
    try {
      const step = await steps;
      if (step.is !== 'granted' && step.is !== 'waiting') void this.delete();
      return step;
    } catch (error) {
      throw this.failed(error);
    }
  }

  /** The create alone decides: its transaction has seen the held znode, so no other znode can be in front of it. */
  async #downgrade(held: Grant, data = this.#queue.options.data()): Promise<Step> {
    try {
      if (!(await this.#node.createAtPlaceOf(held.node, data, this.#queue.client.options.aclFor)))
        return { is: 'over' };
    } catch (error) {
      if (!(error instanceof ZooKeeperError && error.isRetryable)) throw error;
      if (!(await this.#queue.findAgain(this.#node.session, this.#node, this.#deadline))) return { is: 'over' };
    }
    return this.#grant(held.fencingToken);
  }

  async #queueUp(data: Uint8Array | undefined): Promise<Step> {
    const node = this.#node;
    const joined = await this.#queue.join(node, this.#deadline, data);
    if (joined.is === 'not created') return { is: 'over' };
    this.#queue.refuseOverflow(node);
    if (joined.is === 'created') return this.#place(joined.view, { wasQueued: false });
    const { before } = joined;
    // If that one had the lock and has released it, no znode was before it.
    if (before.isGone) return before.wasGranted ? this.#grant() : this.#place(undefined, { wasQueued: false });
    this.#tellQueued(undefined, undefined);
    return { is: 'waiting', predecessor: before.path, isAdjacent: true, position: undefined };
  }

  #tellQueued(position: number | undefined, view: QueueView | undefined): void {
    const { queued } = this.#queue.options;
    if (queued === undefined) return;
    const { name, path } = this.#node;
    queued.tell(position ?? (queued.wantsPosition ? view?.positionOf(name) : undefined), path);
  }

  async #place(view: QueueView | undefined, { wasQueued }: { wasQueued: boolean }): Promise<Step> {
    const node = this.#node;
    const { session } = node;
    let behind: Behind = 'nothing';
    for (;;) {
      this.#deadline.check();
      if (session.isEnded) return { is: 'over' };
      if (!this.#mayBeGranted) return { is: 'absent' };
      // A server that lags behind the create cannot say who is before it.
      if (view && view.zxid < node.czxid) {
        view = undefined;
        behind = 'sync';
      }
      if (view === undefined) {
        if (!this.#deadline.mayWait && !session.isConnected) return { is: 'taken' };
        view = await this.#queue.readAgain(session, this.#deadline, behind);
        if (view) behind = 'nothing';
        continue;
      }
      const standing = view.standingOf(node.name);
      switch (standing.is) {
        case 'absent':
          return { is: 'absent' };
        case 'holder':
          return this.#grant(standing.fencingToken);
        case 'waiting':
          if (!this.#deadline.mayWait) return { is: 'taken' };
          if (!wasQueued) this.#tellQueued(standing.position, view);
          return this.#waiting(standing);
        case 'next': {
          const claimed = await standing.claim(session, node.path);
          if (claimed.is === 'holder') return this.#grant(claimed.fencingToken);
          if (claimed.is === 'absent') return { is: 'absent' };
          // A session that moved to another server may be shown an older tree: only a view behind a quorum write says
          // whether the claim was done.
          behind = claimed.is === 'unknown' ? 'write' : 'nothing';
          view = undefined;
        }
      }
    }
  }

  #waiting({ position, watch, isAdjacent, lockData, children }: Queued): Waiting {
    const path = join(this.#queue.path, watch);
    // The same string, not another one, for each of ten thousand.
    const predecessor = nodesOf(this.#node.session).get(path)?.path ?? path;
    const waiting = {
      is: 'waiting',
      predecessor,
      isAdjacent: isAdjacent && this.#queue.isAppendOnly(this.#node),
      position,
    } as const;
    return lockData === undefined && children === undefined ? waiting : { ...waiting, lockData, children };
  }

  async #grant(fencingToken = this.#node.czxid): Promise<Step> {
    const { session } = this.#node;
    // A hold that is about to expire would be lost as soon as it is granted: the session proves first that it lives.
    // Its znode may be
    // deleted meanwhile, and the lock be another client's: the watch's answer, or its event, comes before the proof.
    if (this.#needsProof()) this.#node.watch.plant();
    while (!session.isEnded && this.#needsProof()) {
      if (!this.#deadline.mayWait && !session.isConnected) return { is: 'taken' };
      if (await session.whenConnected(this.#deadline)) await session.prove().catch(ignore);
      if (this.#needsProof()) await this.#deadline.sleep(session.proofPauseMs);
    }
    this.#deadline.check();
    if (!session.isAlive()) return { is: 'over' };
    return this.#mayBeGranted ? this.#granted(fencingToken) : { is: 'absent' };
  }

  #granted(fencingToken = this.#node.czxid): Outcome {
    return { is: 'granted', grant: new Grant(this.#node, { fencingToken }) };
  }

  get #mayBeGranted(): boolean {
    return !this.#node.isGone && this.#node.mark !== 'force';
  }

  #needsProof(): boolean {
    return !this.#node.session.hasTimeToGrant;
  }
}

/** How one attempt differs from others of its lock. */
export interface AttemptOptions {
  /** What is written into the znode instead of the lock's usual data. */
  readonly data?: Uint8Array | undefined;
  /** The write lock that the same owner holds: its read lock is created at that one's place, and granted at once. */
  readonly downgradeOf?: Grant | undefined;
}

export type Outcome =
  | { readonly is: 'granted'; readonly grant: Grant }
  /** Another znode is before it, and the attempt may not wait. */
  | { readonly is: 'taken' }
  /** The znode is not in the queue: the retry policy decides. */
  | { readonly is: 'absent' }
  /** The session ended, or the create was never executed: nothing is lost by starting over. */
  | { readonly is: 'over' };

export interface Waiting {
  readonly is: 'waiting';
  /** The path of the znode whose end is waited for. */
  readonly predecessor: string;
  /** It comes right behind its predecessor, and nothing can be inserted between. */
  readonly isAdjacent: boolean;
  /** How many znodes were before it when it looked, as far as known. 1: the predecessor is the first. */
  readonly position: number | undefined;
  /** As of {@link Queued}. */
  readonly lockData?: bigint | undefined;
  readonly children?: readonly string[] | undefined;
}

export type Step = Outcome | Waiting;

function ignore(): void {
  // What failed here shows again as a change of state.
}
