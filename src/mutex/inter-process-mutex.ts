import { LockTimeoutError, NotOwnedError } from '../internals/lock-errors.js';
import type { TimedOut } from '../internals/timeout-text.js';
import { Events } from '../support/events.js';
import { showByJson } from '../support/shown.js';
import { requireClient, type LockClient } from '../client/lock-client.js';
import { lockPath } from '../zookeeper/path.js';
import { expectFunction } from '../support/validate.js';
import { localAddress } from '../internals/local-address.js';
import type { ReleaseOutcome } from '../internals/grant.js';
import type { Participant } from '../internals/participants.js';
import type { Deadline } from '../support/deadline.js';
import { checkTryOptions, weightNames, type MutexAcquireOptions } from './acquire-options.js';
import { ask, type AskOptions } from './ask.js';
import type { Hold } from './hold.js';
import { holdEvents, type LockObjectEvents } from './hold-events.js';
import { currentContext, innermostContext, LockContext } from './lock-context.js';
import { MutexAcquirer, type RevocationListener } from './mutex-acquirer.js';
import type { MutexRole } from './shared-use.js';
import { checkedMutexOptions, type InterProcessMutexOptions } from './mutex-options.js';
import { withHold } from './with-hold.js';

/**
 * A fair, re-entrant lock between processes, in one queue with Apache Curator's InterProcessMutex on the same path. All
 * objects of one client and path are one lock; see docs/ownership.md. Their
 * options must be the same while one of them is used.
 *
 * @example
 * const mutex = new InterProcessMutex(client, '/locks/orders/42');
 * await mutex.withLock(async (hold) => ship(order, hold.fencingToken), { timeoutMs: 10_000 });
 */
export class InterProcessMutex {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #acquirer: MutexAcquirer;
  readonly #events = new Events<InterProcessMutexEvents>('queued', ...holdEvents);

  /**
   * Sends nothing.
   *
   * @param path the lock's znode, below the client's chroot; it is created when it is first needed
   * @throws InvalidPathError for a path that ZooKeeper does not take
   * @throws TypeError for a bad option
   * @example
   * const mutex = new InterProcessMutex(client, '/locks/orders/42', { foreignNodes: 'wait' });
   */
  constructor(client: LockClient, path: string, options?: InterProcessMutexOptions);
  /** @internal */ // eslint-disable-next-line @typescript-eslint/unified-signatures -- one signature would make the pair public
  constructor(client: LockClient, path: string, options: InterProcessMutexOptions, pair: ReadWriteRole);
  constructor(client: LockClient, path: string, options: InterProcessMutexOptions = {}, pair?: ReadWriteRole) {
    requireClient(client);
    const checked = checkedMutexOptions(options, { isOwnDriver: pair !== undefined });
    this.#client = client;
    this.#path = lockPath(path);
    this.#acquirer = new MutexAcquirer(client, this.#path, {
      role: pair?.role ?? 'mutex',
      options: checked,
      data: pair?.data ?? Buffer.from(localAddress()),
      events: this.#events,
    });
  }

  /** The lock's znode, as it was given. */
  get path(): string {
    return this.#path;
  }

  /** @internal */
  get client(): LockClient {
    return this.#client;
  }

  /**
   * Waits for the lock; in a lock context that holds it already, counts up and sends nothing. Outside of every lock
   * context each call is an
   * owner of its own, and waits its turn.
   *
   * @throws LockTimeoutError after `timeoutMs`
   * @throws the reason of `signal` when that aborts first
   * @throws LockLostError in a context whose hold was lost: what it protects has to stop, not to go on with a new hold
   * @throws DeadlockError when it would wait without end for what its own flow holds
   * @throws ForeignNodeError when nobody can say who goes first, unless `foreignNodes` is `wait`
   * @throws SequenceOverflowError when all names of this lock are used up
   * @throws RequestFailedError when ZooKeeper refuses, or the retry policy gives up
   * @throws ClientClosedError when the client is closed, before or meanwhile
   * @throws TypeError or RangeError for a bad option; RangeError where another object of this client uses the path with
   * other options
   * @example
   * const hold = await mutex.acquire({ timeoutMs: 5_000 });
   * try {
   *   await work(hold);
   * } finally {
   *   await hold.release();
   * }
   */
  acquire(options?: MutexAcquireOptions): Promise<Hold> {
    return this.#acquirer.acquire(currentContext(), 'acquire', options);
  }

  /**
   * The lock if it can be had within `timeoutMs`, else undefined. Without a timeout it looks first, and writes nothing
   * when somebody is there.
   *
   * @param options the longest wait in milliseconds, or options; 0, the default, tries once, for as long as an answer
   * takes
   * @throws as {@link InterProcessMutex.acquire}, except LockTimeoutError
   * @example
   * await using hold = await mutex.tryAcquire();
   * if (hold) await work(hold);
   */
  async tryAcquire(options?: number | MutexAcquireOptions): Promise<Hold | undefined> {
    const checked = checkTryOptions(options, weightNames);
    try {
      return await this.#acquirer.acquire(currentContext(), 'tryAcquire', checked);
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    }
  }

  /**
   * Runs `job` while holding the lock, in a lock context of its own: inside, this mutex is re-entrant. Releases when
   * the job settles, whatever
   * happens. A job that fulfils after its hold was lost rejects all the same. A job whose lease ends is not waited for:
   * it may hang.
   *
   * @returns what `job` returned
   * @throws what `job` throws
   * @throws LockLostError when the lock was lost before the job fulfilled, at once when its lease has ended
   * @throws TypeError when the job returns a stream or an iterator, which would outlive the lock
   * @throws as {@link InterProcessMutex.acquire}; `job` is not called then
   * @example
   * const total = await mutex.withLock(async (hold) => addUp(hold.signal), { timeoutMs: 5_000 });
   */
  async withLock<T>(job: (hold: Hold) => T | PromiseLike<T>, options?: MutexAcquireOptions): Promise<T> {
    expectFunction('job', job);
    const context = new LockContext('lock', innermostContext());
    const hold = await this.#acquirer.acquire(context, 'withLock', options);
    return withHold(hold, this.#path, () => context.run(() => job(hold)));
  }

  /**
   * Releases the latest hold of the current lock context, whichever object of this client and path has acquired it.
   * Outside of every context it releases the oldest hold that no live context owns:
   * of this object, or, if it has none, of the lock. `hold.release()` says which one, and is to be preferred.
   *
   * @throws NotOwnedError when there is none
   */
  async release(): Promise<ReleaseOutcome> {
    const hold = this.#acquirer.use.releasable(this.#acquirer);
    if (hold === undefined)
      throw new NotOwnedError(this.#path, `You do not own the lock: ${this.#path}: ${releaseAdvice}`);
    return hold.release();
  }

  /** Whether anybody holds this lock by this client, by whichever object. Asks no server. */
  get isAcquiredInThisProcess(): boolean {
    return this.#acquirer.use.isAnyValid;
  }

  /**
   * How many valid holds the current lock context has of this lock, by whichever object, one for each acquire that was
   * not released; outside of every context, how many there are
   * that no live context owns: those which `release()` would find here. Asks no server.
   */
  get holdCount(): number {
    return this.#acquirer.use.allReleasable.filter((hold) => hold.isValid).length;
  }

  /**
   * Whether the current lock context holds this lock, by whichever object; false outside of every context. Asks no
   * server.
   */
  get isOwnedByCurrentContext(): boolean {
    return this.#acquirer.use.isOwnedByCurrentContext;
  }

  /**
   * The queue, the holder first; other processes and Java's Curator included, and go-zookeeper's locks, whose names are
   * alike. With `foreignNodes: 'wait'`
   * kazoo's are there, too, where their names stand in Curator's order.
   *
   * @throws LockTimeoutError when no server has answered within `timeoutMs`, by default the session timeout
   * @throws the reason of `signal` when that aborts first
   * @throws RequestFailedError when ZooKeeper refuses
   * @throws ClientClosedError when the client is closed, before or meanwhile
   * @throws TypeError or RangeError for a bad option
   * @example
   * for (const { path, sessionId, data } of await mutex.participants()) console.log(path, sessionId, data.toString());
   */
  participants(options?: AskOptions): Promise<Participant[]> {
    return this.#ask('participants', 'participants', options, (deadline) => this.#acquirer.kind.participants(deadline));
  }

  /**
   * Who holds the lock now, in whatever process, as the servers know it after all that was written before this call; of
   * several readers the first. Undefined when
   * nobody does. A holder that `isIdle` keeps a sticky lock for later, as far as it has told: it does so 20 ms after
   * the last use. Of a read/write lock it is
   * about this side alone.
   *
   * @throws ForeignNodeError, or ForeignDataError of a lock with weights, where nobody holds it as far as one can see,
   * and somebody may
   * @throws as {@link InterProcessMutex.participants}
   * @example
   * const holder = await mutex.holder();
   * console.log(holder ? `held by ${holder.owner?.host ?? holder.data.toString()} since ${holder.createdAt}` : 'free');
   */
  holder(options?: AskOptions): Promise<Participant | undefined> {
    return this.#ask('holder', 'holder', options, (deadline) => this.#acquirer.kind.holder(deadline));
  }

  /**
   * Whether {@link InterProcessMutex.holder} finds anybody, in whatever process, who does not only keep a sticky lock
   * without using it. It may have changed by the time that the answer is here:
   * use `tryAcquire` to get the lock if it is free.
   *
   * @throws as {@link InterProcessMutex.holder}
   * @example
   * if (await mutex.isLocked()) console.log('busy');
   */
  async isLocked(options?: AskOptions): Promise<boolean> {
    const holder = await this.#ask('isLocked', 'holder', options, (deadline) => this.#acquirer.kind.holder(deadline));
    return holder !== undefined && !holder.isIdle;
  }

  /**
   * Lets others ask for the lock, as in Curator: when somebody calls `revoke` on the znode of a hold, or Java's Revoker
   * does, `listener` is called
   * with that hold, of several handles of one owner with the first. To let go is up to it. A request that comes while
   * the hold is still waiting is
   * told as soon as it is granted. What the listener throws, or rejects with, is warned of.
   *
   * It is for this mutex object, and stays until another listener takes its place; Curator forgets it at the first
   * release. From now on the
   * mutex's znodes carry no data, as in Curator.
   *
   * @throws TypeError if `listener` is not a function
   * @example
   * mutex.makeRevocable((hold) => checkpoint().finally(() => hold.release()));
   */
  makeRevocable(listener: RevocationListener): void {
    expectFunction('listener', listener);
    this.#acquirer.makeRevocable(listener);
  }

  /**
   * Calls `listener` at every event from now on, as nobody's code: what it acquires is its own. What a listener throws,
   * or rejects with, is reported as a process
   * warning, and stops nothing.
   *
   * @throws TypeError for another event, or a listener that is not a function
   * @example
   * mutex.on('queued', ({ position, path }) => log.info(`${path} waits behind ${position}`));
   */
  on<Name extends keyof InterProcessMutexEvents>(
    event: Name,
    listener: (value: InterProcessMutexEvents[Name]) => void,
  ): this {
    this.#events.on(event, listener);
    return this;
  }

  /** As `on`, for the next time only. */
  once<Name extends keyof InterProcessMutexEvents>(
    event: Name,
    listener: (value: InterProcessMutexEvents[Name]) => void,
  ): this {
    this.#events.once(event, listener);
    return this;
  }

  /** Takes back what `on` or `once` was given; of several equal listeners the latest. */
  off<Name extends keyof InterProcessMutexEvents>(
    event: Name,
    listener: (value: InterProcessMutexEvents[Name]) => void,
  ): this {
    this.#events.off(event, listener);
    return this;
  }

  /**
   * What `console.log` and `JSON.stringify` show: the path, and what this process holds of the lock, tokens as text. At
   * most ten holds are shown.
   */
  toJSON(): object {
    const { kind } = this.#acquirer.lock;
    const { isAcquiredInThisProcess, isOwnedByCurrentContext } = this;
    return {
      path: this.#path,
      kind,
      isAcquiredInThisProcess,
      isOwnedByCurrentContext,
      holds: this.#acquirer.use.holds.slice(0, mostShown).map((hold) => hold.toJSON()),
    };
  }

  static {
    showByJson(this, 'InterProcessMutex');
  }

  #ask<T>(
    call: string,
    what: TimedOut,
    options: AskOptions | undefined,
    answer: (deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    return ask(this.#client, { call, what, path: this.#path }, options, answer);
  }
}

/** @internal One of the two locks of an InterProcessReadWriteLock. */
export interface ReadWriteRole {
  readonly role: Exclude<MutexRole, 'mutex'>;
  readonly data: Uint8Array;
}

/** What {@link InterProcessMutex.on} tells, by event. */
export type InterProcessMutexEvents = LockObjectEvents;

const releaseAdvice =
  'mutex.release() ends a hold of the lock context that it is called in (outside of every context: one that no live context owns), and there is none. ' +
  'Prefer hold.release(), which names the hold that it ends';

/** How many holds of a lock `toJSON` shows. */
const mostShown = 10;
