import type { LockHost } from '../client/lock-host.js';
import type { ReleaseOutcome } from '../internals/grant.js';
import type { Participant } from '../internals/participants.js';
import { checkAcquireOptions, checkTryOptions, type AcquireOptions } from '../mutex/acquire-options.js';
import type { AskOptions } from '../mutex/ask.js';
import type { Hold } from '../mutex/hold.js';
import type { LockObjectEvents } from '../mutex/report/hold-events.js';
import { Emitter } from '../support/events.js';
import { expectFunction } from '../support/validate.js';
import type { Leases } from './leases.js';

/** The common part of {@link InterProcessSemaphore} and {@link InterProcessSemaphoreMutex}, which has one lease. */
export abstract class LeaseLock extends Emitter<LockObjectEvents> {
  readonly #leases: Leases;

  /** For the classes of this library only: an application cannot extend it. */
  constructor(...library: never);
  /** @internal */
  constructor(leases: Leases);
  constructor(leases: Leases) {
    super(leases.events);
    this.#leases = leases;
  }

  /** The znode of the semaphore, as the application passed it. */
  get path(): string {
    return this.#leases.path;
  }

  /** @internal */
  get host(): LockHost {
    return this.#leases.host;
  }

  /**
   * Waits for a lease, also if the caller has one already.
   *
   * @throws LockTimeoutError after `timeoutMs`
   * @throws the reason of `signal` when that aborts first
   * @throws ForeignNodeError when the path has znodes of another kind of lock
   * @throws RequestFailedError when ZooKeeper refuses, the shared count cannot be read, or the retry policy gives up
   * @throws SequenceOverflowError when all sequence numbers of this semaphore are used up
   * @throws SessionFullError when the paths of this client's znodes have two million bytes together
   * @throws ClientClosedError when the client is closed before or during the call
   * @throws RangeError when this client already uses the path with another number of leases
   * @throws TypeError or RangeError for a bad option
   * @example
   * const lease = await semaphore.acquire({ timeoutMs: 5_000 });
   * try {
   *   await work(lease);
   * } finally {
   *   await lease.release();
   * }
   */
  async acquire(options?: AcquireOptions): Promise<Hold> {
    const [lease] = await this.#leases.acquire(1, checkAcquireOptions('acquire', options));
    return lease as Hold;
  }

  /**
   * Like `acquire`, but resolves with undefined instead of rejecting with LockTimeoutError. Without an argument it
   * looks first: it takes a lease only if one is free and no other caller waits, and otherwise writes nothing. While
   * another caller takes a lease, it may get none although one is free, as in Curator. Undefined may also mean that no
   * server answered; see {@link InterProcessMutex.tryAcquire}.
   *
   * @param options the longest wait in milliseconds, or options; 0, the default, tries once, for as long as the answer
   * takes
   * @throws as {@link LeaseLock.acquire}, except LockTimeoutError
   * @example
   * await using lease = await semaphore.tryAcquire();
   * if (lease) await work(lease);
   */
  async tryAcquire(options?: number | AcquireOptions): Promise<Hold | undefined> {
    return this.#leases.tryAcquire(checkTryOptions(options));
  }

  /**
   * Runs `job` while holding a lease. The lease is released when the job settles, whatever the outcome. If the job
   * acquires another lease, it gets one besides its own; with one lease in all, it waits for itself. If the lease was
   * lost, the call rejects even though the job fulfilled. A job whose `leaseMs` ends is not waited for, because it may
   * hang.
   *
   * @returns what `job` returned
   * @throws what `job` throws
   * @throws LockLostError when the lease was lost before the job fulfilled
   * @throws TypeError when the job returns a stream or an iterator, because it would be read after the release
   * @throws as {@link LeaseLock.acquire}; then `job` was not called
   * @example
   * const page = await semaphore.withLock((lease) => print(document, lease.signal), { timeoutMs: 5_000 });
   */
  async withLock<T>(job: (lease: Hold) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    expectFunction('job', job);
    return this.#leases.withLock(job, checkAcquireOptions('withLock', options));
  }

  /**
   * Releases the oldest lease of this object, in whatever function it was acquired. Prefer `lease.release()`, which
   * names the lease. A lease of `withLock` is never released, because its job still works with it.
   *
   * @throws NotOwnedError when this object has no such lease
   */
  release(): Promise<ReleaseOutcome> {
    return this.#leases.release();
  }

  /** True while this object has a lease. Asks no server. */
  get isAcquiredInThisProcess(): boolean {
    return this.#leases.isAnyValid;
  }

  /**
   * Returns the participants that have a lease, and after them the one that waits for the next lease, of all processes,
   * Java's Curator included. The participants that wait behind that one are not returned, as in Curator: they are the
   * participants of the mutex at `<path>/locks`.
   *
   * @throws LockTimeoutError when no server has answered within `timeoutMs`, by default the session timeout
   * @throws the reason of `signal` when that aborts first
   * @throws RequestFailedError when ZooKeeper refuses
   * @throws ClientClosedError when the client is closed before or during the call
   * @throws TypeError or RangeError for a bad option
   * @example
   * for (const { path, sessionId } of await semaphore.participants()) console.log(path, sessionId);
   */
  participants(options?: AskOptions): Promise<Participant[]> {
    return this.#leases.participants(options);
  }

  /**
   * Returns what `console.log` and `JSON.stringify` show: the path, and at most ten leases of this object, with tokens
   * as text.
   */
  toJSON(): object {
    return this.#leases.toJSON();
  }
}
