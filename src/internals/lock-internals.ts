import { ForeignNodeError, LockTimeoutError, RequestFailedError, SequenceOverflowError } from '../client/errors.js';
import type { LockClient } from '../client/lock-client.js';
import { getData, sync } from '../client/operations.js';
import { join } from '../client/path.js';
import { expectDuration, expected } from '../client/validate.js';
import type { Session } from '../client/session.js';
import { isZooKeeperError, ZooKeeperError } from '../client/zookeeper-error.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { isSequenceNearOverflow, isStickyName, SEQUENCE_MAX, sequenceOf } from '../driver/names.js';
import { Grant } from './grant.js';
import { isMarkedIdle } from './idle-mark.js';
import { listChildren, Listing } from './listing.js';
import { LockNode, nodesOf } from './lock-node.js';
import { sendParents } from './parents.js';
import { Patience } from './patience.js';
import { nextNews } from './plant-watch.js';
import { connectedSession, reconnected } from './reconnected.js';
import { Retries } from './retries.js';
import { closedTurnstile, closeTurnstile } from './turnstile.js';

export interface LockInternalsOptions {
  readonly driver: LockDriver;
  readonly maxLeases: number;
  /** What is written into the next znode. */
  readonly data: () => Uint8Array;
  /** What a child does that this kind of lock did not create: fail the acquire, or stand in the queue by its name. */
  readonly foreignNodes: 'reject' | 'wait';
  /** Its znodes may stay when nobody uses the lock. */
  readonly isSticky?: boolean;
  /** Told once for each znode that has to wait: how many are before it, and its path below the client's chroot. */
  readonly queued?: (position: number, path: string) => void;
}

/** How long a tryAcquire waits for a sticky lock that says it is idle. */
const askMs = 1_000;

/** `once` looks, and goes away again if it would have to wait. */
export type Mode = 'wait' | 'once';

/** Where a waiter stands. */
export interface Place {
  readonly session: Session;
  readonly sorted: readonly string[];
  readonly index: number;
}

/** Waits for a reason to look again, or to start `over`. */
export type News = (place: Place, patience: Patience) => Promise<'look' | 'over'>;

/** How a try differs from that of a mutex. */
export interface Unusual {
  /** What the same owner holds in the same queue, and is let in beside. */
  readonly beside?: Grant;
  /** What is waited for instead of the predecessor's end. */
  readonly news?: News;
  /** The znode was not granted; `gone` resolves when it is gone. */
  readonly discarded?: (gone: Promise<void>) => void;
}

export type Outcome =
  | { readonly is: 'granted'; readonly grant: Grant }
  /** Somebody is before us, and we do not wait. */
  | { readonly is: 'taken' }
  /** Our znode is not in the list: the retry policy decides. */
  | { readonly is: 'vanished' }
  /** The session ended, or the create was never executed: there is nothing to lose by starting over. */
  | { readonly is: 'over' };

/** Where our znode stands in a list. */
type Standing =
  | { readonly is: 'vanished' }
  | { readonly is: 'held' }
  /** `isNext`: it comes right behind its predecessor, and nobody can be inserted between. `isSecond`: the predecessor is the first. */
  | { readonly is: 'waiting'; readonly index: number; readonly predecessor: string; readonly isNext: boolean; readonly isSecond: boolean; readonly epoch: number };

/** The wait for a lock: queue up, watch the predecessor, clean up. */
export class LockInternals {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #root: string;
  readonly #options: LockInternalsOptions;
  #hasWarnedOfOverflow = false;

  constructor(client: LockClient, path: string, options: LockInternalsOptions) {
    this.#client = client;
    this.#path = path;
    this.#root = `${client.chroot}${path}`;
    this.#options = options;
  }

  /**
   * A grant, or undefined in mode `once` when somebody is before us. Settles the moment the patience is over; what was begun by
   * then is cleaned up in the background, and a grant that comes later is released.
   *
   * @param beside what the same owner holds now in the same queue, if that lets it in at once; may throw what the acquire rejects with
   */
  acquire(patience: Patience, mode: Mode, beside: () => Grant | undefined = nobody): Promise<Grant | undefined> {
    return patience.limit(
      () => this.#run(patience, mode, beside),
      (grant) => void grant?.end(),
    );
  }

  async #run(patience: Patience, mode: Mode, beside: () => Grant | undefined): Promise<Grant | undefined> {
    const retries = new Retries(this.#client);
    for (;;) {
      const session = await this.#connectedSession(patience, mode);
      if (session === undefined) return undefined;
      const held = beside();
      if (!held && mode === 'once') {
        const look = await this.#look(session);
        if (look === 'taken') return undefined;
        if (look === 'idle') return this.#ask();
      }

      const outcome = await this.attempt(session, patience, mode, held ? { beside: held } : {});
      if (outcome.is === 'granted') return outcome.grant;
      if (outcome.is === 'taken') return undefined;
      if (outcome.is === 'vanished') await retries.pause(patience, this.vanished());
    }
  }

  /** One try in one session; a znode that is not granted is deleted in the background. */
  async attempt(session: Session, patience: Patience, mode: Mode, unusual: Unusual = {}): Promise<Outcome> {
    const node = this.#newNode(session);
    const discard = (): void => {
      const gone = node.discard();
      unusual.discarded?.(gone);
    };
    const { beside, news } = unusual;
    const trying = beside ? this.#enterBeside(beside, session, node, patience, mode) : this.#attempt(session, node, patience, mode, news);
    const outcome = await trying.catch((error: unknown) => {
      discard();
      throw this.#explained(error);
    });
    if (outcome.is !== 'granted') discard();
    return outcome;
  }

  /** The error of who does not try again after its znode vanished. */
  vanished(): RequestFailedError {
    return this.#requestFailed(new ZooKeeperError(-101, 'getChildren2', this.#path));
  }

  /** tryAcquire looks before it writes. `idle`: somebody keeps a sticky lock, and uses it no more. */
  async #look(session: Session): Promise<'free' | 'taken' | 'idle'> {
    session.request(sync(this.#root)).catch(ignore);
    try {
      const { sorted, foreign } = (await listChildren(session, this.#root)).queue(this.#options.driver);
      this.#refuseForeign(foreign);
      const last = `${this.#options.driver.lockName}${SEQUENCE_MAX}`;
      if (this.#options.driver.decide(this.#options.driver.sort([...sorted, last]), last, this.#options.maxLeases).held) return 'free';
      return sorted.length === 1 && (await this.#isIdle(session, sorted[0] ?? '')) ? 'idle' : 'taken';
    } catch (error) {
      if (isZooKeeperError(error, 'NO_NODE')) return 'free';
      if (error instanceof ZooKeeperError && error.isPassing) return 'taken';
      throw this.#explained(error);
    }
  }

  async #isIdle(session: Session, name: string): Promise<boolean> {
    if (!isStickyName(name)) return false;
    try {
      return isMarkedIdle((await session.request(getData(join(this.#root, name), false))).value.data);
    } catch (error) {
      if (error instanceof ZooKeeperError) return false; // gone, or not ours to read
      throw error;
    }
  }

  /** Queues up for a moment: who keeps an idle lock gives it away as soon as it hears of us. */
  async #ask(): Promise<Grant | undefined> {
    const patience = new Patience(this.#client, this.#path, { timeoutMs: askMs });
    try {
      return await this.acquire(patience, 'wait');
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    } finally {
      patience.dispose();
    }
  }

  /** The create alone decides: its transaction has seen what is held, so nobody can be in front of it. */
  async #enterBeside(held: Grant, session: Session, node: LockNode, patience: Patience, mode: Mode): Promise<Outcome> {
    try {
      if (!(await node.createBeside(held.node, this.#options.data(), this.#client.options.aclFor))) return { is: 'over' };
    } catch (error) {
      if (!(error instanceof ZooKeeperError && error.isPassing)) throw error;
      if (!(await this.#findAgain(session, node, patience, mode))) return { is: 'over' };
    }
    return this.#grant(session, node, patience, mode, held.fencingToken);
  }

  async #attempt(session: Session, node: LockNode, patience: Patience, mode: Mode, news: News | undefined): Promise<Outcome> {
    let isQueued = false;
    let listing = await this.#queueUp(session, node, patience, mode);
    if (listing === 'not created') return { is: 'over' };
    this.#refuseOverflow(node);
    for (;;) {
      patience.check();
      if (session.isEnded) return { is: 'over' };
      if (node.isGone || node.mark === 'force') return { is: 'vanished' };
      // A server that lags behind our create cannot say who is before us.
      if (listing === undefined || listing.zxid < node.czxid) {
        if (mode === 'once' && !session.isConnected) return { is: 'taken' };
        listing = await this.#lookAgain(session, patience, { mustCatchUp: listing !== undefined });
        continue;
      }
      const place = this.#placeIn(listing, node, { isWatched: mode === 'wait' && news === undefined });
      if (place.is === 'vanished') return { is: 'vanished' };
      if (place.is === 'held') return this.#grant(session, node, patience, mode);
      if (mode === 'once') return { is: 'taken' };
      if (!isQueued) this.#options.queued?.(place.index, join(this.#path, node.name));
      isQueued = true;
      if (news) {
        if ((await news({ session, sorted: listing.queue(this.#options.driver).sorted, index: place.index }, patience)) === 'over') return { is: 'over' };
        listing = undefined;
        continue;
      }
      // Not kept while we wait: a thousand waiters would keep a thousand lists of a thousand names.
      listing = undefined;

      const path = join(this.#root, place.predecessor);
      node.hasWaited = !nodesOf(session).has(path);
      // In this process a hand-over may come at any moment, and looks after our znode itself.
      if (node.hasWaited) node.watch();
      else node.watchSoon();
      const woken = await this.#predecessorChanges(session, node, path, place.isNext, patience);
      const followsHolder = woken === 'holder gone' || (woken === 'gone' && place.isSecond && place.epoch === session.epoch && session.isConnected);
      if (followsHolder && place.isNext) return this.#grant(session, node, patience, mode);
    }
  }

  #placeIn(listing: Listing, node: LockNode, { isWatched }: { isWatched: boolean }): Standing {
    const { driver, maxLeases } = this.#options;
    const { sorted, foreign } = listing.queue(driver);
    this.#refuseForeign(foreign);
    const index = sorted.indexOf(node.name);
    if (index < 0) return { is: 'vanished' };
    const decision = driver.decide(sorted, node.name, maxLeases);
    if (decision.held) return { is: 'held' };
    const { watch } = decision;
    if (isWatched) this.#refuseWatch(sorted, index, watch);
    return {
      is: 'waiting',
      index,
      predecessor: watch,
      isNext: watch === sorted[index - 1] && maxLeases === 1 && this.#isAppendOnly(node),
      isSecond: index === 1,
      epoch: listing.epoch,
    };
  }

  /** Our znode and, in the same flush, the list that says where it stands; undefined when the list was lost. */
  async #queueUp(session: Session, node: LockNode, patience: Patience, mode: Mode): Promise<Listing | undefined | 'not created'> {
    let parents = { errors: Promise.resolve<unknown[]>([]) };
    let ownSteps = 0;
    let turnstile = closedTurnstile(this.#client, this.#root);
    if (turnstile) await turnstile.turn(patience);
    try {
      for (;;) {
        const sent = this.#createAndList(session, node);
        turnstile?.passOn();
        turnstile = undefined;
        try {
          return await sent;
        } catch (error) {
          if (error instanceof ZooKeeperError && error.isPassing) {
            return (await this.#findAgain(session, node, patience, mode)) ? undefined : 'not created';
          }
          if (!isZooKeeperError(error, 'NO_NODE')) throw error;
          // Told apart from a parent that was reaped between its creation and ours (CURATOR-180), which is tried again.
          const [why] = await parents.errors;
          if (why instanceof Error) throw why;
          if (ownSteps > 0) await this.#pause(patience, this.#retrySleepMs(ownSteps - 1, error));
          patience.check();
          const inTheWay = closedTurnstile(this.#client, this.#root);
          if (inTheWay) {
            await inTheWay.turn(patience);
            turnstile = inTheWay;
          } else {
            // Closed in the same step that found it open: the answers to others come right behind ours.
            turnstile = closeTurnstile(this.#client, this.#root);
            ownSteps += 1;
            parents = await this.#sendParents(session);
          }
        }
      }
    } finally {
      turnstile?.passOn();
    }
  }

  async #sendParents(session: Session): Promise<{ errors: Promise<unknown[]> }> {
    try {
      return await sendParents(this.#client, session, this.#root, this.#client.options.aclFor);
    } catch (error) {
      // The server that knows no containers has closed the connection; the create that follows will find out.
      if (isZooKeeperError(error, 'UNIMPLEMENTED')) return { errors: Promise.resolve([]) };
      throw error;
    }
  }

  async #createAndList(session: Session, node: LockNode): Promise<Listing | undefined> {
    const created = node.create(this.#options.data(), this.#client.options.aclFor);
    const listed = this.#listOrNone(session);
    listed.catch(ignore);
    await created;
    return listed;
  }

  /** The answer to our create was lost: does our znode exist? */
  async #findAgain(session: Session, node: LockNode, patience: Patience, mode: Mode): Promise<boolean> {
    for (let tries = 0; ; tries += 1) {
      if (mode === 'once' && !session.isConnected) return false;
      if (!(await reconnected(session, patience))) return false;
      try {
        return await node.find();
      } catch (error) {
        if (!(error instanceof ZooKeeperError && error.isPassing)) throw error;
        if (!error.is('CONNECTION_LOSS')) await this.#pause(patience, this.#retrySleepMs(tries, error));
      }
    }
  }

  async #lookAgain(session: Session, patience: Patience, { mustCatchUp }: { mustCatchUp: boolean }): Promise<Listing | undefined> {
    if (!(await reconnected(session, patience))) return undefined;
    if (mustCatchUp) session.request(sync(this.#root)).catch(ignore);
    return this.#listOrNone(session);
  }

  /** Undefined when the answer was lost. Without a parent there is nobody: our znode has gone with it. */
  async #listOrNone(session: Session): Promise<Listing | undefined> {
    try {
      return await listChildren(session, this.#root);
    } catch (error) {
      if (isZooKeeperError(error, 'NO_NODE')) return new Listing([], session.epoch, session.lastZxid);
      if (error instanceof ZooKeeperError && error.isPassing) return undefined;
      throw error;
    }
  }

  /**
   * Resolves when the predecessor is gone, or when there is a reason to look again: our own znode, the session, other news.
   *
   * Without a list, "gone" means "we are next" in two cases, since nothing can have been inserted before us. The predecessor was the first of
   * our list, and the news came on the connection that the list came on: after a reconnect the events are replayed in no order. Or the
   * predecessor was a holder in this process: then it was the first when it was granted, whenever our list was.
   */
  #predecessorChanges(session: Session, node: LockNode, path: string, isNext: boolean, patience: Patience): Promise<'gone' | 'holder gone' | 'look'> {
    return patience.wait((wake, fail) => {
      const stops = [
        node.onGone(() => wake('look')),
        node.onMark((mark) => mark === 'force' && wake('look')),
        session.onChange(() => session.isEnded && wake('look')),
      ];
      const local = nodesOf(session).get(path);
      if (local) {
        stops.push(local.onGone(() => wake(local.wasGranted ? 'holder gone' : 'gone')));
        if (isNext) stops.push(local.followedBy({ node, handedOver: () => wake('holder gone') }));
      } else {
        stops.push(nextNews(session, path, { told: (event) => wake(event === 'deleted' ? 'gone' : 'look'), failed: fail }));
      }
      // Who was told that it is queued may have looked at a hold, and found that the session is over.
      if (session.isEnded) wake('look');
      return () => stops.forEach((stop) => stop());
    });
  }

  async #grant(session: Session, node: LockNode, patience: Patience, mode: Mode, fencingToken = node.czxid): Promise<Outcome> {
    // A hold that is about to expire would be lost as soon as it is granted: the session proves first that it lives. Its znode may be
    // deleted meanwhile, and the lock be somebody else's: the watch's answer, or its event, comes before the proof.
    if (this.#needsProof(session)) node.watch();
    while (!session.isEnded && this.#needsProof(session)) {
      if (mode === 'once' && !session.isConnected) return { is: 'taken' };
      if (await reconnected(session, patience)) await session.prove().catch(ignore);
      // Proof takes the time that the leader needs to hear of it; asking faster does not bring it earlier.
      if (this.#needsProof(session)) await this.#pause(patience, session.timeoutMs / 24);
    }
    patience.check();
    if (!session.isAlive()) return { is: 'over' };
    if (node.isGone || node.mark === 'force') return { is: 'vanished' };
    return { is: 'granted', grant: new Grant(node, join(this.#path, node.name), { fencingToken }) };
  }

  #needsProof(session: Session): boolean {
    return session.deadline - this.#client.clock.now() < session.timeoutMs / 4;
  }

  async #connectedSession(patience: Patience, mode: Mode): Promise<Session | undefined> {
    if (mode === 'once' && !this.#client.session.isConnected) {
      patience.check();
      return undefined;
    }
    return connectedSession(this.#client, patience);
  }

  #pause(patience: Patience, sleepMs: number): Promise<void> {
    return patience.wait((wake) => this.#client.clock.after(sleepMs, () => wake(undefined)));
  }

  #retrySleepMs(retryCount: number, error: unknown): number {
    const decision = this.#client.options.retryPolicy.allowRetry({ retryCount, elapsedMs: 0, random: Math.random });
    if (!decision.retry) throw error;
    expectDuration('sleepMs of the retry policy', decision.sleepMs);
    return decision.sleepMs;
  }

  #newNode(session: Session): LockNode {
    return new LockNode(session, { root: this.#root, lockName: this.#options.driver.lockName, isSticky: this.#options.isSticky ?? false }, this.#client);
  }

  #isAppendOnly(node: LockNode): boolean {
    const sequence = sequenceOf(node.name, this.#options.driver.lockName);
    return this.#options.driver.appendOnly && sequence !== undefined && !isSequenceNearOverflow(sequence);
  }

  /** After 2^31 znodes the numbers turn negative, and each newcomer would stand before the holder. */
  #refuseOverflow(node: LockNode): void {
    const sequence = sequenceOf(node.name, this.#options.driver.lockName);
    if (sequence === undefined || !isSequenceNearOverflow(sequence)) return;
    if (sequence < 0) throw new SequenceOverflowError(this.#path, node.name);
    if (this.#hasWarnedOfOverflow) return;
    this.#hasWarnedOfOverflow = true;
    this.#client.warn(`${this.#path} is close to its last sequence number (${node.name}): delete it while nobody uses it`, undefined);
  }

  /** A driver that names somebody else would have us wait for nothing, or look again without end. */
  #refuseWatch(sorted: readonly string[], index: number, watch: string): void {
    const isBefore = watch === sorted[index - 1] || sorted.slice(0, index).includes(watch);
    if (!isBefore) throw new TypeError(expected("what driver.decide says to watch", 'a child that is before ours', watch));
  }

  #refuseForeign(foreign: readonly string[]): void {
    if (foreign.length > 0 && this.#options.foreignNodes === 'reject') throw new ForeignNodeError(this.#path, foreign);
  }

  #explained(error: unknown): unknown {
    return error instanceof ZooKeeperError ? this.#requestFailed(error) : error;
  }

  #requestFailed(error: ZooKeeperError): RequestFailedError {
    return new RequestFailedError(`The lock ${this.#path} cannot be acquired`, error);
  }
}

function nobody(): undefined {
  return undefined;
}

function ignore(): void {
  // What failed here fails again where it is awaited.
}
