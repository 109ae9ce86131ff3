import { ForeignNodeError, RequestFailedError, SequenceOverflowError } from '../client/errors.js';
import type { LockClient } from '../client/lock-client.js';
import { sync } from '../client/operations.js';
import { join } from '../client/path.js';
import { expectDuration, expected } from '../client/validate.js';
import type { Session } from '../client/session.js';
import { isZooKeeperError, ZooKeeperError } from '../client/zookeeper-error.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { isSequenceNearOverflow, SEQUENCE_MAX, sequenceOf } from '../driver/names.js';
import { Grant } from './grant.js';
import { listChildren, Listing } from './listing.js';
import { LockNode, nodesOf } from './lock-node.js';
import { sendParents } from './parents.js';
import type { Patience } from './patience.js';
import { plantWatch } from './plant-watch.js';
import { connectedSession, reconnected } from './reconnected.js';
import { Retries } from './retries.js';
import { closedTurnstile, closeTurnstile } from './turnstile.js';

export interface LockInternalsOptions {
  readonly driver: LockDriver;
  readonly maxLeases: number;
  readonly data: Uint8Array;
  /** What a child does that this kind of lock did not create: fail the acquire, or stand in the queue by its name. */
  readonly foreignNodes: 'reject' | 'wait';
  /** Told once for each znode that has to wait: how many are before it, and its path below the client's chroot. */
  readonly queued?: (position: number, path: string) => void;
}

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

/** How a try of a semaphore differs from one of a mutex. */
export interface Unusual {
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
   */
  acquire(patience: Patience, mode: Mode): Promise<Grant | undefined> {
    return patience.limit(
      () => this.#run(patience, mode),
      (grant) => void grant?.end(),
    );
  }

  async #run(patience: Patience, mode: Mode): Promise<Grant | undefined> {
    const retries = new Retries(this.#client);
    for (;;) {
      const session = await this.#connectedSession(patience, mode);
      if (session === undefined) return undefined;
      if (mode === 'once' && (await this.#isTaken(session))) return undefined;

      const outcome = await this.attempt(session, patience, mode);
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
    const outcome = await this.#attempt(session, node, patience, mode, unusual.news).catch((error: unknown) => {
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

  /** tryAcquire looks before it writes. */
  async #isTaken(session: Session): Promise<boolean> {
    session.request(sync(this.#root)).catch(ignore);
    try {
      const { sorted, foreign } = (await listChildren(session, this.#root)).queue(this.#options.driver);
      this.#refuseForeign(foreign);
      const last = `${this.#options.driver.lockName}${SEQUENCE_MAX}`;
      return !this.#options.driver.decide(this.#options.driver.sort([...sorted, last]), last, this.#options.maxLeases).held;
    } catch (error) {
      if (isZooKeeperError(error, 'NO_NODE')) return false;
      if (error instanceof ZooKeeperError && error.isPassing) return true;
      throw this.#explained(error);
    }
  }

  async #attempt(session: Session, node: LockNode, patience: Patience, mode: Mode, news: News | undefined): Promise<Outcome> {
    let isQueued = false;
    let listing = await this.#queueUp(session, node, patience, mode);
    if (listing === 'not created') return { is: 'over' };
    this.#refuseOverflow(node);
    for (;;) {
      patience.check();
      if (session.isEnded) return { is: 'over' };
      if (node.isGone) return { is: 'vanished' };
      // A server that lags behind our create cannot say who is before us.
      if (listing === undefined || listing.zxid < node.czxid) {
        if (mode === 'once' && !session.isConnected) return { is: 'taken' };
        listing = await this.#lookAgain(session, patience, { mustCatchUp: listing !== undefined });
        continue;
      }
      const { sorted, foreign } = listing.queue(this.#options.driver);
      this.#refuseForeign(foreign);
      const index = sorted.indexOf(node.name);
      if (index < 0) return { is: 'vanished' };
      const decision = this.#options.driver.decide(sorted, node.name, this.#options.maxLeases);
      if (decision.held) return this.#grant(session, node, patience, mode);
      if (mode === 'once') return { is: 'taken' };
      if (!isQueued) this.#options.queued?.(index, join(this.#path, node.name));
      isQueued = true;
      if (news) {
        if ((await news({ session, sorted, index }, patience)) === 'over') return { is: 'over' };
        listing = undefined;
        continue;
      }
      this.#refuseWatch(sorted, index, decision.watch);

      node.watch();
      const isNext = decision.watch === sorted[index - 1] && this.#options.maxLeases === 1 && this.#isAppendOnly(node);
      const woken = await this.#predecessorChanges(session, node, decision.watch, isNext, patience);
      const followsHolder = woken === 'holder gone' || (woken === 'gone' && index === 1 && listing.epoch === session.epoch && session.isConnected);
      if (followsHolder && isNext) return this.#grant(session, node, patience, mode);
      listing = undefined;
    }
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
    const created = node.create(this.#options.data, this.#client.options.aclFor);
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
  #predecessorChanges(session: Session, node: LockNode, predecessor: string, isNext: boolean, patience: Patience): Promise<'gone' | 'holder gone' | 'look'> {
    const path = join(this.#root, predecessor);
    return patience.wait((wake, fail) => {
      const stops = [
        node.onGone(() => wake('look')),
        session.onChange(() => session.isEnded && wake('look')),
      ];
      const local = nodesOf(session).get(path);
      if (local) {
        stops.push(local.onGone(() => wake(local.wasGranted ? 'holder gone' : 'gone')));
        if (isNext) stops.push(local.followedBy({ node, handedOver: () => wake('holder gone') }));
      } else {
        const fired = (event: string): void => wake(event === 'deleted' ? 'gone' : 'look');
        session.watch(path, fired);
        plantWatch(session, path).then(
          (planted) => {
            if (planted !== 'gone') return;
            session.unwatch(path, fired, { forget: false });
            wake('gone');
          },
          (error: unknown) => {
            // After a lost connection the watch is planted anew on the next one.
            if (!(error instanceof ZooKeeperError && error.isPassing)) fail(error);
          },
        );
        stops.push(() => session.unwatch(path, fired, { forget: true }));
      }
      return () => stops.forEach((stop) => stop());
    });
  }

  async #grant(session: Session, node: LockNode, patience: Patience, mode: Mode): Promise<Outcome> {
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
    if (node.isGone) return { is: 'vanished' };
    return { is: 'granted', grant: new Grant(node, join(this.#path, node.name)) };
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
    return new LockNode(session, { root: this.#root, lockName: this.#options.driver.lockName }, this.#client);
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

function ignore(): void {
  // What failed here fails again where it is awaited.
}
