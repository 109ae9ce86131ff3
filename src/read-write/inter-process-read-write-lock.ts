import type { LockClient } from '../client/lock-client.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { showByJson } from '../support/shown.js';
import { expectOptions } from '../support/validate.js';
import { readDriver, writeDriver } from './read-write-driver.js';
import { copyOfData } from '../mutex/acquire-options.js';
import { InterProcessMutex } from '../mutex/inter-process-mutex.js';
import type { InterProcessMutexOptions } from '../mutex/mutex-options.js';

/**
 * A lock that several readers hold together, or one writer alone. It uses the znode format of Apache Curator's
 * InterProcessReadWriteLock, so Java and Node.js clients of the same path share one lock and one queue. Both locks are
 * fair: they are granted in the order of the requests, and a reader that comes after a waiting writer waits for it.
 *
 * - **Downgrade**: in the lock context that holds the write lock, the read lock is granted at once. It stays when the
 *   write lock is released, and no writer is granted in between.
 * - **No upgrade**: an owner that holds the read lock is never granted the write lock. Without a timeout and a signal,
 *   the acquire rejects with DeadlockError at once.
 * - Both locks are re-entrant in their context, each for itself. Outside of every context each acquire is an owner of
 *   its own, so neither a downgrade nor an upgrade is recognised there.
 *
 * Curator before 5.5 does not keep writers out while one of its own downgraded readers goes on (CURATOR-621).
 * `readLock.holder()` does not find that reader, because its znode looks like that of a waiting reader.
 *
 * @example
 * const rw = new InterProcessReadWriteLock(client, '/locks/catalogue');
 * const page = await rw.readLock.withLock(() => readPage(7));
 * await rw.writeLock.withLock(async (hold) => rewrite(hold.fencingToken), { timeoutMs: 10_000 });
 */
export class InterProcessReadWriteLock {
  /** The lock that readers share. Its `participants()` are the readers. */
  readonly readLock: InterProcessMutex;
  /** The lock that excludes every other owner. Its `participants()` are the writers. */
  readonly writeLock: InterProcessMutex;

  /**
   * Sends nothing.
   *
   * @param path the lock's znode, below the client's chroot; it is created when it is first needed
   * @throws InvalidPathError for a path that ZooKeeper does not accept
   * @throws TypeError for a bad option
   * @example
   * const rw = new InterProcessReadWriteLock(client, '/locks/catalogue', { data: Buffer.from('worker 7') });
   * await lockContext.run(async () => {
   *   const writing = await rw.writeLock.acquire();
   *   await rewrite();
   *   const reading = await rw.readLock.acquire(); // at once
   *   await writing.release();                     // other readers come in, writers do not
   *   await announce();
   *   await reading.release();
   * });
   */
  constructor(client: LockClient, path: string, options: InterProcessReadWriteLockOptions = {}) {
    const { data, foreignNodes } = expectOptions('InterProcessReadWriteLock', options, ['data', 'foreignNodes']);
    const copy = data === undefined ? undefined : copyOfData(data);
    const lockOf = (role: 'read' | 'write', driver: LockDriver): InterProcessMutex =>
      new InterProcessMutex(client, path, { driver, foreignNodes }, { role, data: copy });
    this.readLock = lockOf('read', readDriver);
    this.writeLock = lockOf('write', writeDriver);
  }

  /** The lock's znode, as the application passed it. */
  get path(): string {
    return this.writeLock.path;
  }

  /** Returns what `console.log` and `JSON.stringify` show: the path, and this process's holds of both locks. */
  toJSON(): object {
    return { path: this.path, readLock: this.readLock.toJSON(), writeLock: this.writeLock.toJSON() };
  }

  static {
    showByJson(this, 'InterProcessReadWriteLock');
  }
}

/** Options of {@link InterProcessReadWriteLock}. */
export interface InterProcessReadWriteLockOptions {
  /**
   * The data that both locks write into their znodes, for `participants()` to return. Copied. @default the host's
   * address, as in Curator
   */
  readonly data?: Uint8Array | undefined;
  /** As for a mutex. @default 'reject' */
  readonly foreignNodes?: InterProcessMutexOptions['foreignNodes'];
}
