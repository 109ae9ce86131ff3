import { hostOf, type LockClient } from '../client/lock-client.js';
import type { LockHost } from '../client/lock-host.js';
import { lockPath, validatePath } from '../zookeeper/wire/path.js';
import { expected, expectFunction, expectInteger, expectOptions } from '../support/validate.js';
import type { Limit } from './lease-internals.js';
import type { Participant } from '../internals/participants.js';
import { Emitter } from '../support/events.js';
import { showByJson } from '../support/shown.js';
import { checkAcquireOptions, checkTryOptions, type AcquireOptions } from '../mutex/acquire-options.js';
import type { AskOptions } from '../mutex/ask.js';
import type { Hold } from '../mutex/hold.js';
import type { LockObjectEvents } from '../mutex/report/hold-events.js';
import type { ReleaseOutcome } from '../internals/grant.js';
import { Leases } from './leases.js';

/**
 * A fair counting semaphore between processes. It uses the znode format of Apache Curator's InterProcessSemaphoreV2, so
 * Java and Node.js clients of the same path share one semaphore and one queue. Each lease is a {@link Hold} of its own:
 * any code may release it, and each lease is lost separately. The semaphore is not re-entrant: each acquire takes
 * another lease.
 *
 * Several leases are valid at once, so their `fencingToken` only identifies a lease: it cannot fence.
 *
 * @example
 * const semaphore = new InterProcessSemaphore(client, '/semaphores/printers', { maxLeases: 3 });
 * await using lease = await semaphore.acquire({ timeoutMs: 5_000 });
 * await print(page, lease.signal);
 */
export class InterProcessSemaphore extends Emitter<LockObjectEvents> {
  readonly #leases: Leases;

  /**
   * Sends nothing.
   *
   * @param path the semaphore's znode, below the client's chroot; it is created when it is first needed
   * @throws InvalidPathError for a path that ZooKeeper does not accept
   * @throws TypeError or RangeError for a bad option
   * @example
   * const semaphore = new InterProcessSemaphore(client, '/semaphores/printers', { sharedCount: '/config/printers' });
   */
  constructor(client: LockClient, path: string, options: InterProcessSemaphoreOptions) {
    const leases = new Leases(hostOf(client), lockPath(path), 'semaphore', checkLimit(options));
    super(leases.events);
    this.#leases = leases;
  }

  /** The semaphore's znode, as the application passed it. */
  get path(): string {
    return this.#leases.path;
  }

  /** @internal */
  get host(): LockHost {
    return this.#leases.host;
  }

  /**
   * Waits for a lease.
   *
   * @throws LockTimeoutError after `timeoutMs`
   * @throws the reason of `signal` when that aborts first
   * @throws ForeignNodeError when the path has znodes of another kind of lock
   * @throws RequestFailedError when ZooKeeper refuses, the shared count cannot be read, or the retry policy gives up
   * @throws SequenceOverflowError when all sequence numbers of this semaphore are used up
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
   * @throws as {@link InterProcessSemaphore.acquire}, except LockTimeoutError
   * @example
   * await using lease = await semaphore.tryAcquire();
   * if (lease) await work(lease);
   */
  async tryAcquire(options?: number | AcquireOptions): Promise<Hold | undefined> {
    return this.#leases.tryAcquire(checkTryOptions(options));
  }

  /**
   * Runs `job` while holding a lease. The lease is released when the job settles, whatever the outcome. If the job
   * acquires another lease of the semaphore, it gets one besides its own. If the lease was lost, the call rejects even
   * though the job fulfilled. A job whose `leaseMs` ends is not waited for, because it may hang.
   *
   * @returns what `job` returned
   * @throws what `job` throws
   * @throws LockLostError when the lease was lost before the job fulfilled
   * @throws TypeError when the job returns a stream or an iterator, because it would be read after the release
   * @throws as {@link InterProcessSemaphore.acquire}; then `job` was not called
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
   * Waits for several leases, all or none, with one deadline. Callers behind it wait meanwhile, so that two callers of
   * several leases do not each take a part and wait for each other forever. Java's `acquire(2)` does take a part. If a
   * Java client that has a part waits behind this call for the rest, and no lease was taken or released for 1.5
   * seconds, this call releases its leases and queues up again.
   *
   * @param quantity the number of leases: an integer ≥ 1, and at most `maxLeases`
   * @returns one hold for each lease; each is lost and released separately
   * @throws as {@link InterProcessSemaphore.acquire}
   * @example
   * const leases = await semaphore.acquireMany(2, { timeoutMs: 5_000 });
   * await Promise.all(leases.map((lease) => lease.release()));
   */
  async acquireMany(quantity: number, options?: AcquireOptions): Promise<Hold[]> {
    expectInteger('quantity', quantity, { min: 1 });
    if (this.#leases.limit.is === 'fixed' && quantity > this.#leases.limit.maxLeases) {
      throw new RangeError(
        expected(
          'quantity',
          `at most maxLeases, ${this.#leases.limit.maxLeases}: the wait for more would never end`,
          quantity,
        ),
      );
    }
    return this.#leases.acquire(quantity, checkAcquireOptions('acquireMany', options));
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
   * Returns the participants that have a lease, of all processes, the oldest lease first: the first participants of
   * {@link InterProcessSemaphore.participants}, as many as there are leases. After a shared count was lowered,
   * participants with a lease beyond it are not returned.
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
   * Returns what `console.log` and `JSON.stringify` show: the path, the number of leases, and at most ten leases of
   * this object, with tokens as text.
   */
  toJSON(): object {
    const limit =
      this.#leases.limit.is === 'fixed'
        ? { maxLeases: this.#leases.limit.maxLeases }
        : { sharedCount: this.#leases.limit.path };
    return { ...limit, ...this.#leases.toJSON() };
  }

  static {
    showByJson(this, 'InterProcessSemaphore');
  }
}

/** The number of leases of an {@link InterProcessSemaphore}: pass exactly one of the two options. */
export type InterProcessSemaphoreOptions =
  | {
      /** The number of leases, an integer ≥ 1. All clients of the path must pass the same number. */
      readonly maxLeases: number;
      /** Not together with `maxLeases`. */
      readonly sharedCount?: undefined;
    }
  | {
      /**
       * The path, below the client's chroot, of a znode that contains the number of leases in the form of Curator's
       * SharedCount: four bytes, a signed big-endian integer. A change takes effect at once, also for callers that
       * already wait; below 1 no lease is granted. The znode must exist: while it is deleted, every acquire fails with
       * RequestFailedError, also one that already waits.
       */
      readonly sharedCount: string;
      /** Not together with `sharedCount`. */
      readonly maxLeases?: undefined;
    };

function checkLimit(options: InterProcessSemaphoreOptions): Limit {
  const { maxLeases, sharedCount } = expectOptions('InterProcessSemaphore', options, ['maxLeases', 'sharedCount']);
  if ((maxLeases === undefined) === (sharedCount === undefined)) {
    throw new TypeError('Expected either `maxLeases` or `sharedCount` among the options of InterProcessSemaphore');
  }
  const given: unknown = sharedCount;
  if (given !== undefined && typeof given !== 'string')
    throw new TypeError(expected('sharedCount', 'the path of a znode', given));
  if (sharedCount !== undefined) return { is: 'shared', path: validatePath(sharedCount) };
  expectInteger('maxLeases', maxLeases, { min: 1 });
  return { is: 'fixed', maxLeases };
}
