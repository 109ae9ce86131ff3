import type { LockClient } from '../client/lock-client.js';
import { showByJson } from '../support/shown.js';
import { expectOptions } from '../support/validate.js';
import { readDriver, writeDriver } from './read-write-driver.js';
import { localAddress } from '../internals/local-address.js';
import { copyOfData } from '../mutex/acquire-options.js';
import { InterProcessMutex } from '../mutex/inter-process-mutex.js';
import type { InterProcessMutexOptions } from '../mutex/mutex-options.js';

/**
 * Readers together, writers alone, in one queue with Apache Curator's InterProcessReadWriteLock on the same path. Both
 * locks are fair: who asks first is
 * served first, and a reader that comes behind a waiting writer waits for it.
 *
 * - **Downgrade**: in the lock context that holds the write lock, the read lock is granted at once. It stays when the
 *   write lock is released, and no
 *   writer gets in between.
 * - **No upgrade**: who holds the read lock is never granted the write lock. Without a timeout and a signal, that is a
 *   DeadlockError at once.
 * - Both locks are re-entrant in their context, each on its own. Outside of every context each acquire is an owner of
 *   its own: neither a downgrade nor
 *   an upgrade is recognised there.
 *
 * Curator before 5.5 does not keep writers out while one of its own downgraded readers goes on (CURATOR-621), and
 * `readLock.holder()` does not find that reader: its
 * znode is like that of a reader who waits.
 *
 * @example
 * const rw = new InterProcessReadWriteLock(client, '/locks/catalogue');
 * const page = await rw.readLock.withLock(() => readPage(7));
 * await rw.writeLock.withLock(async (hold) => rewrite(hold.fencingToken), { timeoutMs: 10_000 });
 */
export class InterProcessReadWriteLock {
  /** Shared with other readers. Its `participants()` are the readers. */
  readonly readLock: InterProcessMutex;
  /** Excludes everybody else. Its `participants()` are the writers. */
  readonly writeLock: InterProcessMutex;

  /**
   * Sends nothing.
   *
   * @param path the lock's znode, below the client's chroot; it is created when it is first needed
   * @throws InvalidPathError for a path that ZooKeeper does not take
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
    const { data = Buffer.from(localAddress()), foreignNodes } = expectOptions('InterProcessReadWriteLock', options, [
      'data',
      'foreignNodes',
    ]);
    const copy = copyOfData(data);
    this.readLock = new InterProcessMutex(
      client,
      path,
      { driver: readDriver, foreignNodes },
      { role: 'read', data: copy },
    );
    this.writeLock = new InterProcessMutex(
      client,
      path,
      { driver: writeDriver, foreignNodes },
      { role: 'write', data: copy },
    );
  }

  /** The lock's znode, as it was given. */
  get path(): string {
    return this.writeLock.path;
  }

  /** What `console.log` and `JSON.stringify` show: the path, and what this process holds of both locks. */
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
   * What both locks write into their znodes, for `participants()` to show. Copied. @default the host's address, as in
   * Curator
   */
  readonly data?: Uint8Array | undefined;
  /** As of a mutex. @default 'reject' */
  readonly foreignNodes?: InterProcessMutexOptions['foreignNodes'];
}
