import { hostOf, type LockClient } from '../client/lock-client.js';
import { lockPath, validatePath } from '../zookeeper/wire/path.js';
import { expected, expectInteger, expectOptions } from '../support/validate.js';
import type { Limit } from './lease-limit.js';
import type { Participant } from '../internals/participants.js';
import { showByJson } from '../support/shown.js';
import { checkAcquireOptions, type AcquireOptions } from '../mutex/acquire-options.js';
import type { AskOptions } from '../mutex/ask.js';
import type { Hold } from '../mutex/hold.js';
import { LeaseLock } from './lease-lock.js';
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
export class InterProcessSemaphore extends LeaseLock {
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
    super(leases);
    this.#leases = leases;
  }

  /**
   * Waits for several leases, all or none, with one deadline. Callers behind it wait meanwhile, so that two callers of
   * several leases do not each take a part and wait for each other forever. Java's `acquire(2)` does take a part. If a
   * Java client that has a part waits behind this call for the rest, and no lease was taken or released for 1.5
   * seconds, this call releases its leases and queues up again.
   *
   * @param quantity the number of leases: an integer ≥ 1, and at most `maxLeases`
   * @returns one hold for each lease; each is lost and released separately
   * @throws as {@link LeaseLock.acquire}
   * @example
   * const leases = await semaphore.acquireMany(2, { timeoutMs: 5_000 });
   * await Promise.all(leases.map((lease) => lease.release()));
   */
  async acquireMany(quantity: number, options?: AcquireOptions): Promise<Hold[]> {
    expectInteger('quantity', quantity, { min: 1 });
    const { limit } = this.#leases;
    if (limit.is === 'fixed' && quantity > limit.maxLeases)
      throw new RangeError(
        expected('quantity', `at most maxLeases, ${limit.maxLeases}: the wait for more would never end`, quantity),
      );
    return this.#leases.acquire(quantity, checkAcquireOptions('acquireMany', options));
  }

  /**
   * Returns the participants that have a lease, of all processes, the oldest lease first: the first participants of
   * {@link LeaseLock.participants}, as many as there are leases. After a shared count was lowered,
   * participants with a lease beyond it are not returned.
   *
   * @throws RequestFailedError when the shared count cannot be read
   * @throws as {@link LeaseLock.participants}
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
  override toJSON(): object {
    const { limit } = this.#leases;
    const shown = limit.is === 'fixed' ? { maxLeases: limit.maxLeases } : { sharedCount: limit.path };
    return { ...shown, ...super.toJSON() };
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
  if (sharedCount !== undefined) return { is: 'shared', path: validatePath(sharedCount, 'sharedCount') };
  expectInteger('maxLeases', maxLeases, { min: 1 });
  return { is: 'fixed', maxLeases };
}
