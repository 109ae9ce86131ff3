import { LockClient } from '../client/lock-client.js';
import type { AcquireOptions } from './acquire-options.js';
import type { Hold } from './hold.js';
import { InterProcessMutex } from './inter-process-mutex.js';

/** What a {@link LockClient} does with a path, without an object for its lock. */
export interface PathLocks {
  /**
   * Runs `job` while holding the lock on `path`: the same as `new InterProcessMutex(client, path).withLock(job,
   * options)`, with which it shares the lock. Inside of `job`, all that acquires this
   * path by this client re-enters.
   *
   * @param path the lock's znode, below the client's chroot; it is created when it is first needed
   * @returns what `job` returned
   * @throws as {@link InterProcessMutex.withLock}; InvalidPathError for a path that ZooKeeper does not take
   * @example
   * const total = await client.withLock('/locks/orders/42', async (hold) => ship(42, hold.fencingToken), { timeoutMs:
   * 10_000 });
   */
  withLock<T>(path: string, job: (hold: Hold) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T>;
}

declare module '../client/lock-client.js' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- merged into the class
  interface LockClient extends PathLocks {}
}

// Put here, because the room of the client knows no locks. package.json names this module among its `sideEffects`: a
// bundler must not leave it out.
LockClient.prototype.withLock = async function withLock(path, job, options) {
  return new InterProcessMutex(this, path).withLock(job, options);
};
