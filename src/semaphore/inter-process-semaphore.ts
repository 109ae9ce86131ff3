import { requireClient, type LockClient } from '../client/lock-client.js';
import { lockPath, validatePath } from '../zookeeper/path.js';
import { expected, expectFunction, expectInteger, expectOptions } from '../support/validate.js';
import type { Limit } from './lease-internals.js';
import type { Participant } from '../internals/participants.js';
import { showByJson } from '../support/shown.js';
import { checkAcquireOptions, checkTryOptions, type AcquireOptions } from '../mutex/acquire-options.js';
import type { AskOptions } from '../mutex/ask.js';
import type { Hold } from '../mutex/hold.js';
import type { LockObjectEvents } from '../mutex/hold-events.js';
import type { ReleaseOutcome } from '../internals/grant.js';
import { Leases } from './leases.js';

/**
 * A fair counting semaphore between processes, in one queue with Apache Curator's InterProcessSemaphoreV2 on the same
 * path. Each lease is a {@link Hold} of
 * its own: anybody may release it, and it is lost by itself. It is not re-entrant: each acquire takes another lease.
 *
 * As several leases are valid at once, their `fencingToken` identifies them, and is no fence.
 *
 * @example
 * const semaphore = new InterProcessSemaphore(client, '/semaphores/printers', { maxLeases: 3 });
 * await using lease = await semaphore.acquire({ timeoutMs: 5_000 });
 * await print(page, lease.signal);
 */
export class InterProcessSemaphore {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #limit: Limit;
  readonly #leases: Leases;

  /**
   * Sends nothing.
   *
   * @param path the semaphore's znode, below the client's chroot; it is created when it is first needed
   * @throws InvalidPathError for a path that ZooKeeper does not take
   * @throws TypeError or RangeError for a bad option
   * @example
   * const semaphore = new InterProcessSemaphore(client, '/semaphores/printers', { sharedCount: '/config/printers' });
   */
  constructor(client: LockClient, path: string, options: InterProcessSemaphoreOptions) {
    requireClient(client);
    this.#client = client;
    this.#path = lockPath(path);
    this.#limit = checkLimit(options);
    this.#leases = new Leases(client, this.#path, 'semaphore', this.#limit);
  }

  /** The semaphore's znode, as it was given. */
  get path(): string {
    return this.#path;
  }

  /** @internal */
  get client(): LockClient {
    return this.#client;
  }

  /**
   * Waits for a lease.
   *
   * @throws LockTimeoutError after `timeoutMs`
   * @throws the reason of `signal` when that aborts first
   * @throws ForeignNodeError when there is a lock of another kind on this path
   * @throws RequestFailedError when ZooKeeper refuses, the shared count cannot be read, or the retry policy gives up
   * @throws SequenceOverflowError when all names are used up
   * @throws ClientClosedError when the client is closed, before or meanwhile
   * @throws RangeError when this client uses the path with another number of leases already
   * @throws LimitMismatchError when others do: more leases than there are have stayed on the servers for two session
   * timeouts
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
   * Like `acquire`, but undefined instead of LockTimeoutError. Without an argument it looks first: it takes a lease
   * only if one is free and nobody waits, and writes
   * nothing otherwise. While another one takes its turn it may get nothing although a lease is free, as in Curator.
   *
   * @param options the longest wait in milliseconds, or options; 0, the default, tries once, for as long as an answer
   * takes
   * @throws as {@link InterProcessSemaphore.acquire}, except LockTimeoutError
   * @example
   * await using lease = await semaphore.tryAcquire();
   * if (lease) await work(lease);
   */
  async tryAcquire(options?: number | AcquireOptions): Promise<Hold | undefined> {
    return this.#leases.tryAcquire(checkTryOptions(options));
  }

  /**
   * Runs `job` while holding a lease, and gives the lease back when the job settles, whatever happens. A job that wants
   * another lease of the semaphore waits for one beside its own. A job that
   * fulfils after its lease was lost rejects all the same. A job whose `leaseMs` ends is not waited for: it may hang.
   *
   * @returns what `job` returned
   * @throws what `job` throws
   * @throws LockLostError when the lease was lost before the job fulfilled
   * @throws TypeError when the job returns a stream or an iterator, which would outlive the lease
   * @throws as {@link InterProcessSemaphore.acquire}; `job` is not called then
   * @example
   * const page = await semaphore.withLock((lease) => print(document, lease.signal), { timeoutMs: 5_000 });
   */
  async withLock<T>(job: (lease: Hold) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    expectFunction('job', job);
    return this.#leases.withLock(job, checkAcquireOptions('withLock', options));
  }

  /**
   * Gives back the oldest lease of this object, in whatever function it was acquired. `lease.release()` says which one,
   * and is to be preferred.
   *
   * @throws NotOwnedError when this object has none
   */
  release(): Promise<ReleaseOutcome> {
    return this.#leases.release();
  }

  /** Whether this object has a lease. Asks no server. */
  get isAcquiredInThisProcess(): boolean {
    return this.#leases.isAnyValid;
  }

  /**
   * Waits for several leases, all or none, with one deadline. Who is behind waits meanwhile, so that two who want
   * several do not each take a
   * part and wait for each other for ever. Java's `acquire(2)` does take a part: where it waits behind this call for
   * the rest, and no lease has come or gone for
   * 1.5 seconds, this call gives back what it has and queues up again.
   *
   * @param quantity how many: an integer ≥ 1, and at most `maxLeases`
   * @returns as many holds, each of which is lost and released by itself
   * @throws as {@link InterProcessSemaphore.acquire}
   * @example
   * const leases = await semaphore.acquireMany(2, { timeoutMs: 5_000 });
   * await Promise.all(leases.map((lease) => lease.release()));
   */
  async acquireMany(quantity: number, options?: AcquireOptions): Promise<Hold[]> {
    expectInteger('quantity', quantity, { min: 1 });
    if (this.#limit.is === 'fixed' && quantity > this.#limit.maxLeases) {
      throw new RangeError(
        expected(
          'quantity',
          `at most maxLeases, ${this.#limit.maxLeases}: the wait for more would never end`,
          quantity,
        ),
      );
    }
    return this.#leases.acquire(quantity, checkAcquireOptions('acquireMany', options));
  }

  /**
   * Who has a lease, and after them who waits for the next one; other processes and Java's Curator included. Who stands
   * in line behind that one is
   * not shown, as in Curator: those are the participants of the mutex at `<path>/locks`.
   *
   * @throws LockTimeoutError when no server has answered within `timeoutMs`, by default the session timeout
   * @throws the reason of `signal` when that aborts first
   * @throws RequestFailedError when ZooKeeper refuses
   * @throws ClientClosedError when the client is closed, before or meanwhile
   * @throws TypeError or RangeError for a bad option
   * @example
   * for (const { path, sessionId } of await semaphore.participants()) console.log(path, sessionId);
   */
  participants(options?: AskOptions): Promise<Participant[]> {
    return this.#leases.participants(options);
  }

  /**
   * The participants that have a lease, in whatever process, the oldest lease first: the first of {@link
   * InterProcessSemaphore.participants}, as many as there are leases. After a shared count was
   * lowered, participants that have a lease beyond it are not shown.
   *
   * @throws RequestFailedError when the shared count cannot be read
   * @throws as {@link InterProcessSemaphore.participants}
   * @example
   * const free = 3 - (await semaphore.holders()).length;
   */
  holders(options?: AskOptions): Promise<Participant[]> {
    return this.#leases.holders('holders', options);
  }

  /**
   * Calls `listener` at every event of this object from now on: as of {@link InterProcessMutex.on}, for each lease.
   *
   * @throws TypeError for another event, or a listener that is not a function
   * @example
   * semaphore.on('queued', ({ position }) => log.info(`place ${position} in line`));
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

  /**
   * What `console.log` and `JSON.stringify` show: the path, how many leases there are, and the leases of this object,
   * tokens as text. At most ten are shown.
   */
  toJSON(): object {
    const limit = this.#limit.is === 'fixed' ? { maxLeases: this.#limit.maxLeases } : { sharedCount: this.#limit.path };
    return { ...limit, ...this.#leases.toJSON() };
  }

  static {
    showByJson(this, 'InterProcessSemaphore');
  }
}

/** How many leases an {@link InterProcessSemaphore} has: one of the two must be given. */
export type InterProcessSemaphoreOptions =
  | {
      /** As many as this, an integer ≥ 1; everybody on the path must say the same. */
      readonly maxLeases: number;
      /** Not beside `maxLeases`. */
      readonly sharedCount?: undefined;
    }
  | {
      /**
       * As many as this znode says, below the client's chroot, in the form of Curator's SharedCount: four bytes, a
       * signed big-endian integer.
       * Changes count at once, for those who wait, too; below 1 nobody gets a lease. The znode has to be there: while
       * it is
       * deleted, every acquire fails with RequestFailedError, those that wait included.
       */
      readonly sharedCount: string;
      /** Not beside `sharedCount`. */
      readonly maxLeases?: undefined;
    };

function checkLimit(options: InterProcessSemaphoreOptions): Limit {
  const { maxLeases, sharedCount } = expectOptions('InterProcessSemaphore', options, ['maxLeases', 'sharedCount']);
  if ((maxLeases === undefined) === (sharedCount === undefined)) {
    throw new TypeError('Expected either `maxLeases` or `sharedCount` among the options of InterProcessSemaphore');
  }
  if (sharedCount !== undefined) return { is: 'shared', path: validatePath(sharedCount) };
  expectInteger('maxLeases', maxLeases, { min: 1 });
  return { is: 'fixed', maxLeases };
}
