import { LockTimeoutError } from '../client/report/lock-timeout-error.js';
import { NotOwnedError } from '../internals/lock-errors.js';
import type { TimedOut } from '../client/report/timeout-text.js';
import { Emitter, Events } from '../support/events.js';
import { showByJson } from '../support/shown.js';
import { hostOf, type LockClient } from '../client/lock-client.js';
import type { LockHost } from '../client/lock-host.js';
import { lockPath } from '../zookeeper/wire/path.js';
import { expectFunction, expectThis } from '../support/validate.js';
import { DefaultData } from '../internals/znode/znode-data.js';
import type { ReleaseOutcome } from '../internals/grant.js';
import type { Participant } from '../internals/participants.js';
import type { Deadline } from '../support/deadline.js';
import { checkTryOptions, type MutexAcquireOptions } from './acquire-options.js';
import { ask, type AskOptions } from './ask.js';
import type { Hold } from './hold.js';
import { holdEvents, type LockObjectEvents } from './report/hold-events.js';
import { currentContext, innermostContext, LockContext } from './lock-context.js';
import type { RevocationListener } from './report/lock-reporter.js';
import { MutexAcquirer } from './mutex-acquirer.js';
import { checkedMutexOptions, wayNames, type InterProcessMutexOptions } from './mutex-options.js';
import { withHold } from './with-hold.js';

/**
 * A fair, re-entrant lock between processes. It uses the znode format of Apache Curator's InterProcessMutex, so Java
 * and Node.js clients of the same path share one lock and one queue. All objects of one client and path are one lock;
 * see docs/ownership.md. Their options must be the same while any of them is used.
 *
 * @example
 * const mutex = new InterProcessMutex(client, '/locks/orders/42');
 * await mutex.withLock(async (hold) => ship(order, hold.fencingToken), { timeoutMs: 10_000 });
 */
export class InterProcessMutex extends Emitter<InterProcessMutexEvents> {
  readonly #acquirer: MutexAcquirer;

  /**
   * Sends nothing.
   *
   * @param path the lock's znode, below the client's chroot; it is created when it is first needed
   * @throws InvalidPathError for a path that ZooKeeper does not accept
   * @throws TypeError for a bad option
   * @example
   * const mutex = new InterProcessMutex(client, '/locks/orders/42');
   */
  constructor(client: LockClient, path: string, options?: InterProcessMutexOptions);
  /** @internal */ // oxlint-disable-next-line typescript/unified-signatures -- one signature would make the pair public
  constructor(client: LockClient, path: string, options: InterProcessMutexOptions, pair: ReadWriteRole);
  constructor(client: LockClient, path: string, options: InterProcessMutexOptions = {}, pair?: ReadWriteRole) {
    const events = new Events<InterProcessMutexEvents>('queued', ...holdEvents);
    super(events);
    const host = hostOf(client);
    const checked = checkedMutexOptions(options, { isOwnDriver: pair !== undefined });
    this.#acquirer = new MutexAcquirer(host, lockPath(path), {
      role: pair?.role ?? 'mutex',
      options: checked,
      data: pair?.data ?? DefaultData.of(host),
      events,
    });
  }

  /** The lock's znode, as the application passed it. */
  get path(): string {
    return this.#acquirer.lock.path;
  }

  /** @internal */
  get host(): LockHost {
    return this.#acquirer.lock.host;
  }

  /**
   * Waits for the lock. In a lock context that already holds the lock, it re-enters: it counts up and sends nothing.
   * Outside of every lock context each call is an owner of its own, and waits behind the others.
   *
   * @throws LockTimeoutError after `timeoutMs`
   * @throws the reason of `signal` when that aborts first
   * @throws LockLostError in a context whose hold was lost: the protected code has to stop, not to go on with a new
   * hold
   * @throws DeadlockError when the call would wait, without a timeout and a signal, for a hold of its own flow
   * @throws ForeignNodeError when the lock's znode has children of another kind, so that the order is unknown, unless
   * `foreignNodes` is `wait`
   * @throws SequenceOverflowError when all sequence numbers of this lock are used up
   * @throws SessionFullError when the paths of this client's znodes have two million bytes together
   * @throws RequestFailedError when ZooKeeper refuses, or the retry policy gives up
   * @throws ClientClosedError when the client is closed before or during the call
   * @throws TypeError or RangeError for a bad option; RangeError if another object of this client uses the path with
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
   * Returns the lock if it can be acquired within `timeoutMs`, else undefined. Without a timeout it looks first, and
   * writes nothing if another client holds the lock or waits for it. Undefined may also mean that no server answered:
   * then `client.state` is `suspended` or `lost`, and the event `timed-out` of the client has an error with the reason
   * `no-answer`, as `acquire({ timeoutMs: 0 })` has.
   *
   * @param options the longest wait in milliseconds, or options; 0, the default, tries once, for as long as the answer
   * takes
   * @throws as {@link InterProcessMutex.acquire}, except LockTimeoutError
   * @example
   * await using hold = await mutex.tryAcquire();
   * if (hold) await work(hold);
   */
  async tryAcquire(options?: number | MutexAcquireOptions): Promise<Hold | undefined> {
    const checked = checkTryOptions(options, wayNames());
    try {
      return await this.#acquirer.acquire(currentContext(), 'tryAcquire', checked);
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    }
  }

  /**
   * Runs `job` while holding the lock, in a lock context of its own: inside, this mutex is re-entrant. The lock is
   * released when the job settles, whatever the outcome. If the hold was lost, the call rejects even though the job
   * fulfilled. A job whose lease ends is not waited for, because it may hang.
   *
   * @returns what `job` returned
   * @throws what `job` throws
   * @throws LockLostError when the lock was lost before the job fulfilled; at once when its lease has ended
   * @throws TypeError when the job returns a stream or an iterator, because it would be read after the release
   * @throws as {@link InterProcessMutex.acquire}; then `job` was not called
   * @example
   * const total = await mutex.withLock(async (hold) => addUp(hold.signal), { timeoutMs: 5_000 });
   */
  async withLock<T>(job: (hold: Hold) => T | PromiseLike<T>, options?: MutexAcquireOptions): Promise<T> {
    expectThis(this instanceof InterProcessMutex, 'mutex.withLock(job)');
    expectFunction('job', job);
    const context = new LockContext('lock', innermostContext());
    const hold = await this.#acquirer.acquire(context, 'withLock', options);
    return withHold(hold, this.path, () => context.run(() => job(hold)));
  }

  /**
   * Releases the latest hold of the current lock context, whichever object of this client and path acquired it. Outside
   * of every context it releases the oldest hold of this object that no live context owns. If this object has none, it
   * releases the oldest hold of another object that is already lost. Prefer `hold.release()`, which names the hold.
   *
   * @throws NotOwnedError when there is no such hold
   */
  async release(): Promise<ReleaseOutcome> {
    const [hold] = this.#acquirer.shared.releasable(this.#acquirer);
    if (hold === undefined)
      throw new NotOwnedError(this.path, `You do not own the lock: ${this.path}: ${releaseAdvice}`);
    return hold.release();
  }

  /** True while any object of this client holds this lock. Asks no server. */
  get isAcquiredInThisProcess(): boolean {
    return this.#acquirer.shared.isAnyValid;
  }

  /**
   * The number of valid holds that the current lock context has of this lock, whichever object acquired them: one for
   * each acquire without a release. Outside of every context it counts the holds of this object that no live context
   * owns. Asks no server.
   */
  get holdCount(): number {
    return this.#acquirer.shared.releasable(this.#acquirer).filter((hold) => hold.isValid).length;
  }

  /**
   * True while the current lock context holds this lock, whichever object acquired it; false outside of every context.
   * Asks no server.
   */
  get isOwnedByCurrentContext(): boolean {
    return this.#acquirer.shared.isOwnedByCurrentContext;
  }

  /**
   * Returns the queue, the holder first. It contains all processes, Java's Curator, and go-zookeeper's locks, whose
   * names have the same form. With `foreignNodes: 'wait'` it contains all children of the lock's znode, as in Curator.
   *
   * @throws LockTimeoutError when no server has answered within `timeoutMs`, by default the session timeout
   * @throws the reason of `signal` when that aborts first
   * @throws RequestFailedError when ZooKeeper refuses
   * @throws ClientClosedError when the client is closed before or during the call
   * @throws TypeError or RangeError for a bad option
   * @example
   * for (const { path, sessionId, data } of await mutex.participants()) console.log(path, sessionId, data.toString());
   */
  participants(options?: AskOptions): Promise<Participant[]> {
    return this.#ask('participants', 'participants', options, (deadline) =>
      this.#acquirer.queue.participants(deadline),
    );
  }

  /**
   * Returns the participant that holds the lock now, in any process, as the servers know it after every write before
   * this call; undefined when the lock is free. Of several readers it returns the first. A holder with `isIdle` keeps a
   * sticky lock without using it; it writes that mark 20 ms after the last use. For a read/write lock the answer is
   * about this side only.
   *
   * @throws ForeignNodeError, or ForeignDataError for a lock with weights, when the znodes do not show whether the lock
   * is held
   * @throws as {@link InterProcessMutex.participants}
   * @example
   * const holder = await mutex.holder();
   * console.log(holder ? `held by ${holder.owner?.host ?? holder.data.toString()} since ${holder.createdAt}` : 'free');
   */
  holder(options?: AskOptions): Promise<Participant | undefined> {
    return this.#ask('holder', 'holder', options, (deadline) => this.#acquirer.queue.holder(deadline));
  }

  /**
   * True if {@link InterProcessMutex.holder} finds a participant that does more than keep an idle sticky lock. The
   * answer may be out of date when it arrives: use `tryAcquire` to get the lock if it is free.
   *
   * @throws as {@link InterProcessMutex.holder}
   * @example
   * if (await mutex.isLocked()) console.log('busy');
   */
  async isLocked(options?: AskOptions): Promise<boolean> {
    const holder = await this.#ask('isLocked', 'holder', options, (deadline) => this.#acquirer.queue.holder(deadline));
    return holder !== undefined && !holder.isIdle;
  }

  /**
   * Lets other clients ask for the lock, as in Curator. When another client calls `revoke` on the znode of a hold, or
   * Java's Revoker does, `listener` is called with that hold; of several holds of one owner, with the first. The
   * listener decides whether to release. If the request comes while the acquire still waits, `listener` is called as
   * soon as the lock is granted. An error or a rejection of the listener becomes a warning.
   *
   * The listener belongs to this mutex object, and stays until another one replaces it; Curator forgets its listener at
   * the first release. From now on the mutex's znodes carry no data, as in Curator.
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
   * Returns what `console.log` and `JSON.stringify` show: the path, and this process's holds of the lock, at most ten,
   * with tokens as text.
   */
  toJSON(): object {
    const { kind } = this.#acquirer.lock;
    const { isAcquiredInThisProcess, isOwnedByCurrentContext } = this;
    return {
      path: this.path,
      kind,
      isAcquiredInThisProcess,
      isOwnedByCurrentContext,
      holds: this.#acquirer.shared.holds.slice(0, mostShown).map((hold) => hold.toJSON()),
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
    return ask(this.host, { call, what, path: this.path }, options, answer);
  }
}

/** @internal One of the two locks of an InterProcessReadWriteLock. */
export interface ReadWriteRole {
  readonly role: 'read' | 'write';
  readonly data: Uint8Array | undefined;
}

/** The events of an {@link InterProcessMutex}. */
export type InterProcessMutexEvents = LockObjectEvents;

const releaseAdvice =
  'mutex.release() ends a hold of the lock context in which it is called (outside of every context: a hold of this object that no live context owns), and there is no such hold. ' +
  'Prefer hold.release(), which names the hold';

/** How many holds `toJSON` shows. */
const mostShown = 10;
