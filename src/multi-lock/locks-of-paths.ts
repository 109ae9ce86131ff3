import type { LockClient } from '../client/lock-client.js';
import { expected } from '../support/validate.js';
import type { AcquireOptions } from '../mutex/acquire-options.js';
import type { Hold } from '../mutex/hold.js';
import { InterProcessMutex } from '../mutex/inter-process-mutex.js';
import { addLockOfAll } from '../mutex/path-locks.js';
import { InterProcessMultiLock } from './inter-process-multi-lock.js';
import type { MultiHold } from './multi-hold.js';

declare module '../mutex/path-locks.js' {
  interface PathLocks {
    /**
     * Acquires the locks on all `paths`, or none of them, as an {@link InterProcessMultiLock} of their mutexes does: in the
     * order of the paths, whatever order is given, and with one deadline. Each is one lock with the other locks on its path.
     *
     * @param paths at least one, and each only once
     * @throws as {@link InterProcessMultiLock.acquire}; InvalidPathError for a path that ZooKeeper does not accept
     * @throws TypeError for an empty array; RangeError for a path that occurs twice, or is below another
     * @example
     * await using hold = await client.lock(['/accounts/7', '/accounts/3'], { timeoutMs: 10_000 });
     * await transfer(hold.signal);
     */
    lock(paths: readonly string[], options?: AcquireOptions): Promise<MultiHold<Hold>>;
    /**
     * Runs `job` while holding the locks on all `paths`, as {@link InterProcessMultiLock.withLock} does. Inside `job`, every
     * acquire of one of them by this client re-enters.
     *
     * @param paths at least one, and each only once
     * @returns what `job` returned
     * @throws as {@link InterProcessMultiLock.withLock}; InvalidPathError for a path that ZooKeeper does not accept
     * @throws TypeError for an empty array; RangeError for a path that occurs twice, or is below another
     * @example
     * await client.withLock(['/accounts/7', '/accounts/3'], (hold) => transfer(hold.signal), { timeoutMs: 10_000 });
     */
    withLock<T>(
      paths: readonly string[],
      job: (hold: MultiHold<Hold>) => T | PromiseLike<T>,
      options?: AcquireOptions,
    ): Promise<T>;
  }
}

addLockOfAll((client: LockClient, paths: readonly unknown[]) => {
  if (paths.length === 0) throw new TypeError(expected('paths', 'at least one path', paths));
  const mutexes = paths.map((path) => new InterProcessMutex(client, path as string));
  return new InterProcessMultiLock(mutexes, 'paths');
});
