import { LockClient } from '../client/lock-client.js';
import { expectThis } from '../support/validate.js';
import type { AcquireOptions } from './acquire-options.js';
import type { Hold } from './hold.js';
import { InterProcessMutex } from './inter-process-mutex.js';

/** The methods of a {@link LockClient} that take a path instead of a lock object. */
export interface PathLocks {
  /**
   * Acquires the lock on `path`. It is the same as `new InterProcessMutex(client, path).acquire(options)`, and shares the
   * lock with it. The lock is held until `hold.release()`; `await using` calls that at the end of the block.
   *
   * @param path the lock's znode, below the client's chroot; it is created when it is first needed
   * @throws as {@link InterProcessMutex.acquire}; InvalidPathError for a path that ZooKeeper does not accept
   * @example
   * await using hold = await client.lock('/locks/orders/42', { timeoutMs: 10_000 });
   * await ship(42, hold.fencingToken);
   */
  lock(path: string, options?: AcquireOptions): Promise<Hold>;
  /**
   * Runs `job` while holding the lock on `path`. It is the same as `new InterProcessMutex(client, path).withLock(job,
   * options)`, and shares the lock with it. Inside `job`, every acquire of this path by this client re-enters.
   *
   * @param path the lock's znode, below the client's chroot; it is created when it is first needed
   * @returns what `job` returned
   * @throws as {@link InterProcessMutex.withLock}; InvalidPathError for a path that ZooKeeper does not accept
   * @example
   * const options = { timeoutMs: 10_000 };
   * const total = await client.withLock('/locks/orders/42', async (hold) => ship(42, hold.fencingToken), options);
   */
  withLock<T>(path: string, job: (hold: Hold) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T>;
}

declare module '../client/lock-client.js' {
  // oxlint-disable-next-line typescript/no-empty-object-type -- merged into the class
  interface LockClient extends PathLocks {}
}

// The methods are added here because `src/client` knows no locks. Not by an assignment to each, because a room above may
// add overloads.
Object.assign(LockClient.prototype, {
  async lock(path: string, options?: AcquireOptions): Promise<Hold> {
    expectThis(this instanceof LockClient, 'client.lock(path)');
    return lockOf(this as unknown as LockClient, path).acquire(options);
  },

  async withLock<T>(path: string, job: (hold: Hold) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    expectThis(this instanceof LockClient, 'client.withLock(path, job)');
    return lockOf(this as unknown as LockClient, path).withLock(job, options);
  },
});

function lockOf(client: LockClient, path: string): PathLock {
  return Array.isArray(path) && lockOfAll ? lockOfAll(client, path) : new InterProcessMutex(client, path);
}

type PathLock = Pick<InterProcessMutex, 'acquire' | 'withLock'>;

let lockOfAll: ((client: LockClient, paths: readonly unknown[]) => PathLock) | undefined;

/** Lets the methods take an array of paths. Called when the module of such locks, in a room above, is loaded. */
export function addLockOfAll(lockOf: (client: LockClient, paths: readonly unknown[]) => unknown): void {
  // The overloads of that room say what its holds are.
  lockOfAll = lockOf as typeof lockOfAll;
}
