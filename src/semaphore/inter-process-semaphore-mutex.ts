import { NotOwnedError } from '../internals/lock-errors.js';
import { requireClient, type LockClient } from '../client/lock-client.js';
import { lockPath } from '../zookeeper/path.js';
import { expectFunction } from '../support/validate.js';
import type { ReleaseOutcome } from '../internals/grant.js';
import type { Participant } from '../internals/participants.js';
import { checkAcquireOptions, checkTryOptions, type AcquireOptions } from '../mutex/acquire-options.js';
import type { AskOptions } from '../mutex/ask.js';
import type { Hold } from '../mutex/hold.js';
import { Leases } from './leases.js';
import { withHold } from '../mutex/with-hold.js';

/**
 * A lock that belongs to nobody: it is not re-entrant, and anybody who has the object may release it. A semaphore of one lease, in one queue with Apache
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
    this.#leases = new Leases(client, this.#path, { is: 'fixed', maxLeases: 1 });
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
   * Like `acquire`, but undefined instead of LockTimeoutError. Without an argument it writes nothing when somebody holds the lock or waits for it.
   *
   * @param options the longest wait in milliseconds, or options; 0, the default, tries once, for as long as an answer takes
   * @throws as {@link InterProcessSemaphore.acquire}, except LockTimeoutError
   * @example
   * await using hold = await lock.tryAcquire();
   */
  async tryAcquire(options?: number | AcquireOptions): Promise<Hold | undefined> {
    return this.#leases.tryAcquire(checkTryOptions(options));
  }

  /**
   * Runs `job` while holding the lock, and releases it when the job settles, whatever happens. A job that wants the lock again waits for itself. A job
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
    const hold = await this.acquire(checkAcquireOptions('withLock', options));
    return withHold(hold, this.#path, () => job(hold));
  }

  /**
   * Releases the oldest hold of this object, whoever acquired it.
   *
   * @throws NotOwnedError when there is none
   */
  async release(): Promise<ReleaseOutcome> {
    const hold = this.#leases.oldest;
    if (hold === undefined) throw new NotOwnedError(this.#path, `Not acquired: ${this.#path}`);
    return hold.release();
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
}
