import { hostOf, type LockClient } from '../client/lock-client.js';
import type { LockHost } from '../client/lock-host.js';
import { lockPath } from '../zookeeper/wire/path.js';
import { expectFunction } from '../support/validate.js';
import type { ReleaseOutcome } from '../internals/grant.js';
import type { Participant } from '../internals/participants.js';
import { checkAcquireOptions, checkTryOptions, type AcquireOptions } from '../mutex/acquire-options.js';
import type { AskOptions } from '../mutex/ask.js';
import type { Hold } from '../mutex/hold.js';
import type { LockObjectEvents } from '../mutex/report/hold-events.js';
import { Emitter } from '../support/events.js';
import { showByJson } from '../support/shown.js';
import { Leases } from './leases.js';

/**
 * A lock without an owner: it is not re-entrant, and any code that has the object may release it. It is a semaphore
 * with one lease, in the znode format of Apache Curator's InterProcessSemaphoreMutex, so Java and Node.js clients of
 * the same path share one lock and one queue.
 *
 * @example
 * const lock = new InterProcessSemaphoreMutex(client, '/locks/conveyor');
 * await lock.acquire();
 * conveyor.once('empty', () => void lock.release());
 */
export class InterProcessSemaphoreMutex extends Emitter<LockObjectEvents> {
  readonly #leases: Leases;

  /**
   * Sends nothing.
   *
   * @param path the lock's znode, below the client's chroot; it is created when it is first needed
   * @throws InvalidPathError for a path that ZooKeeper does not accept
   * @example
   * const lock = new InterProcessSemaphoreMutex(client, '/locks/conveyor');
   */
  constructor(client: LockClient, path: string);
  /** @internal */ // eslint-disable-next-line @typescript-eslint/unified-signatures -- one signature would make the options public
  constructor(client: LockClient, path: string, options?: object);
  constructor(client: LockClient, path: string, options?: object) {
    const host = hostOf(client);
    if (options !== undefined)
      throw new TypeError(
        'Expected no options of InterProcessSemaphoreMutex, because it has one lease. For several leases use InterProcessSemaphore',
      );
    const leases = new Leases(host, lockPath(path), 'semaphore-mutex', { is: 'fixed', maxLeases: 1 });
    super(leases.events);
    this.#leases = leases;
  }

  /** The lock's znode, as the application passed it. */
  get path(): string {
    return this.#leases.path;
  }

  /** @internal */
  get host(): LockHost {
    return this.#leases.host;
  }

  /**
   * Waits for the lock, even if the caller holds it itself.
   *
   * @throws as {@link InterProcessSemaphore.acquire}
   * @example
   * const hold = await lock.acquire({ timeoutMs: 5_000 });
   */
  async acquire(options?: AcquireOptions): Promise<Hold> {
    const [hold] = await this.#leases.acquire(1, checkAcquireOptions('acquire', options));
    return hold as Hold;
  }

  /**
   * Like `acquire`, but resolves with undefined instead of rejecting with LockTimeoutError. Without an argument it
   * writes nothing if another caller holds the lock or waits for it. Undefined may also mean that no server answered; see
   * {@link InterProcessMutex.tryAcquire}.
   *
   * @param options the longest wait in milliseconds, or options; 0, the default, tries once, for as long as the answer
   * takes
   * @throws as {@link InterProcessSemaphore.acquire}, except LockTimeoutError
   * @example
   * await using hold = await lock.tryAcquire();
   */
  async tryAcquire(options?: number | AcquireOptions): Promise<Hold | undefined> {
    return this.#leases.tryAcquire(checkTryOptions(options));
  }

  /**
   * Runs `job` while holding the lock. The lock is released when the job settles, whatever the outcome. If the job
   * acquires the lock again, it waits for itself. If the hold was lost, the call rejects even though the job fulfilled.
   *
   * @returns what `job` returned
   * @throws what `job` throws
   * @throws LockLostError when the lock was lost before the job fulfilled
   * @throws TypeError when the job returns a stream or an iterator, because it would be read after the release
   * @throws as {@link InterProcessSemaphoreMutex.acquire}; then `job` was not called
   * @example
   * await lock.withLock((hold) => work(hold.signal), { timeoutMs: 5_000 });
   */
  async withLock<T>(job: (hold: Hold) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    expectFunction('job', job);
    return this.#leases.withLock(job, checkAcquireOptions('withLock', options));
  }

  /**
   * Releases the oldest hold of this object, in whatever function it was acquired. A hold of `withLock` is never
   * released, because its job still works with it.
   *
   * @throws NotOwnedError when there is no such hold
   */
  release(): Promise<ReleaseOutcome> {
    return this.#leases.release();
  }

  /** True while this object holds the lock. Asks no server. */
  get isAcquiredInThisProcess(): boolean {
    return this.#leases.isAnyValid;
  }

  /**
   * Returns the holder of the lock, and the waiter that is next; see {@link InterProcessSemaphore.participants}.
   *
   * @throws as {@link InterProcessSemaphore.participants}
   */
  participants(options?: AskOptions): Promise<Participant[]> {
    return this.#leases.participants(options);
  }

  /**
   * Returns the participant that holds the lock now, in any process; undefined when the lock is free.
   *
   * @throws as {@link InterProcessSemaphore.participants}
   * @example
   * const holder = await lock.holder();
   */
  async holder(options?: AskOptions): Promise<Participant | undefined> {
    const [holder] = await this.#leases.holders('holder', options);
    return holder;
  }

  /**
   * True if a participant of any process holds the lock. The answer may be out of date when it arrives: use
   * `tryAcquire` to get the lock if it is free.
   *
   * @throws as {@link InterProcessSemaphoreMutex.holder}
   * @example
   * if (await lock.isLocked()) console.log('busy');
   */
  async isLocked(options?: AskOptions): Promise<boolean> {
    return (await this.#leases.holders('isLocked', options)).length > 0;
  }

  /**
   * Returns what `console.log` and `JSON.stringify` show: the path, and the holds of this object, with tokens as text.
   */
  toJSON(): object {
    return this.#leases.toJSON();
  }

  static {
    showByJson(this, 'InterProcessSemaphoreMutex');
  }
}
