import { requireClient, type LockClient } from '../client/lock-client.js';
import { lockPath } from '../zookeeper/path.js';
import { expectFunction } from '../support/validate.js';
import type { ReleaseOutcome } from '../internals/grant.js';
import type { Participant } from '../internals/participants.js';
import { checkAcquireOptions, checkTryOptions, type AcquireOptions } from '../mutex/acquire-options.js';
import type { AskOptions } from '../mutex/ask.js';
import type { Hold } from '../mutex/hold.js';
import type { LockObjectEvents } from '../mutex/hold-events.js';
import { showByJson } from '../support/shown.js';
import { Leases } from './leases.js';

/**
 * A lock that belongs to nobody: it is not re-entrant, and anybody who has the object may release it. A semaphore of
 * one lease, in one queue with Apache
 * Curator's InterProcessSemaphoreMutex on the same path.
 *
 * @example
 * const lock = new InterProcessSemaphoreMutex(client, '/locks/conveyor');
 * await lock.acquire();
 * conveyor.once('empty', () => void lock.release());
 */
export class InterProcessSemaphoreMutex {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #leases: Leases;

  /**
   * Sends nothing.
   *
   * @param path the lock's znode, below the client's chroot; it is created when it is first needed
   * @throws InvalidPathError for a path that ZooKeeper does not take
   * @example
   * const lock = new InterProcessSemaphoreMutex(client, '/locks/conveyor');
   */
  constructor(client: LockClient, path: string) {
    requireClient(client);
    this.#client = client;
    this.#path = lockPath(path);
    this.#leases = new Leases(client, this.#path, 'semaphore-mutex', { is: 'fixed', maxLeases: 1 });
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
   * Waits for the lock, also for one that the caller holds itself.
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
   * Like `acquire`, but undefined instead of LockTimeoutError. Without an argument it writes nothing when somebody
   * holds the lock or waits for it.
   *
   * @param options the longest wait in milliseconds, or options; 0, the default, tries once, for as long as an answer
   * takes
   * @throws as {@link InterProcessSemaphore.acquire}, except LockTimeoutError
   * @example
   * await using hold = await lock.tryAcquire();
   */
  async tryAcquire(options?: number | AcquireOptions): Promise<Hold | undefined> {
    return this.#leases.tryAcquire(checkTryOptions(options));
  }

  /**
   * Runs `job` while holding the lock, and releases it when the job settles, whatever happens. A job that wants the
   * lock again waits for itself. A job
   * that fulfils after its hold was lost rejects all the same.
   *
   * @returns what `job` returned
   * @throws what `job` throws
   * @throws LockLostError when the lock was lost before the job fulfilled
   * @throws TypeError when the job returns a stream or an iterator, which would outlive the lock
   * @throws as {@link InterProcessSemaphoreMutex.acquire}; `job` is not called then
   * @example
   * await lock.withLock((hold) => work(hold.signal), { timeoutMs: 5_000 });
   */
  async withLock<T>(job: (hold: Hold) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    expectFunction('job', job);
    return this.#leases.withLock(job, checkAcquireOptions('withLock', options));
  }

  /**
   * Releases the oldest hold of this object, whoever acquired it.
   *
   * @throws NotOwnedError when there is none
   */
  release(): Promise<ReleaseOutcome> {
    return this.#leases.release();
  }

  /** Whether anybody holds the lock by this object. Asks no server. */
  get isAcquiredInThisProcess(): boolean {
    return this.#leases.isAnyValid;
  }

  /**
   * Who holds the lock, and who waits to be the next; see {@link InterProcessSemaphore.participants}.
   *
   * @throws as {@link InterProcessSemaphore.participants}
   */
  participants(options?: AskOptions): Promise<Participant[]> {
    return this.#leases.participants(options);
  }

  /**
   * The participant that holds the lock now, in whatever process; undefined when nobody holds it.
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
   * Whether anybody holds the lock, in whatever process. It may have changed by the time that the answer is here: use
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
   * Calls `listener` at every event of this object from now on: as of {@link InterProcessMutex.on}.
   *
   * @throws TypeError for another event, or a listener that is not a function
   * @example
   * lock.on('lost', ({ error }) => log.warn(error));
   */
  on<Name extends keyof LockObjectEvents>(event: Name, listener: (value: LockObjectEvents[Name]) => void): this {
    this.#leases.events.on(event, listener);
    return this;
  }

  /** As `on`, for the next time only. */
  once<Name extends keyof LockObjectEvents>(event: Name, listener: (value: LockObjectEvents[Name]) => void): this {
    this.#leases.events.once(event, listener);
    return this;
  }

  /** Takes back what `on` or `once` was given; of several equal listeners the latest. */
  off<Name extends keyof LockObjectEvents>(event: Name, listener: (value: LockObjectEvents[Name]) => void): this {
    this.#leases.events.off(event, listener);
    return this;
  }

  /** What `console.log` and `JSON.stringify` show: the path, and what this object holds, tokens as text. */
  toJSON(): object {
    return this.#leases.toJSON();
  }

  static {
    showByJson(this, 'InterProcessSemaphoreMutex');
  }
}
