import { hostOf, type LockClient } from '../client/lock-client.js';
import { lockPath } from '../zookeeper/wire/path.js';
import type { Participant } from '../internals/participants.js';
import type { AskOptions } from '../mutex/ask.js';
import { showByJson } from '../support/shown.js';
import { LeaseLock } from './lease-lock.js';
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
export class InterProcessSemaphoreMutex extends LeaseLock {
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
  /** @internal */ // oxlint-disable-next-line typescript/unified-signatures -- one signature would make the options public
  constructor(client: LockClient, path: string, options?: object);
  constructor(client: LockClient, path: string, options?: object) {
    const host = hostOf(client);
    if (options !== undefined)
      throw new TypeError(
        'Expected no options of InterProcessSemaphoreMutex, because it has one lease. For several leases use InterProcessSemaphore',
      );
    const leases = new Leases(host, lockPath(path), 'semaphore-mutex', { is: 'fixed', maxLeases: 1 });
    super(leases);
    this.#leases = leases;
  }

  /**
   * Returns the participant that holds the lock now, in any process; undefined when the lock is free.
   *
   * @throws as {@link LeaseLock.participants}
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

  static {
    showByJson(this, 'InterProcessSemaphoreMutex');
  }
}
