import { InterProcessMutex, InterProcessReadWriteLock, type LockClient } from '../../../../src/index.ts';

/** What Curator asks of every InterProcessLock. */
export type LockUnderTest = Pick<InterProcessMutex, 'acquire' | 'tryAcquire' | 'withLock' | 'participants' | 'isAcquiredInThisProcess'>;

export interface LockClass {
  readonly name: string;
  /** Curator skips its tests of re-entrancy for the locks that are not. */
  readonly isReentrant: boolean;
  /** Several owners are inside at a time, so that its tests of exclusion are not for this one. */
  readonly isShared?: boolean;
  make(client: LockClient, path: string): LockUnderTest;
}

/** The classes that TestInterProcessMutexBase runs for. */
export const lockClasses: readonly LockClass[] = [
  { name: 'InterProcessMutex', isReentrant: true, make: (client, path) => new InterProcessMutex(client, path) },
  { name: 'the write lock of InterProcessReadWriteLock', isReentrant: true, make: (client, path) => new InterProcessReadWriteLock(client, path).writeLock },
  { name: 'the read lock of InterProcessReadWriteLock', isReentrant: true, isShared: true, make: (client, path) => new InterProcessReadWriteLock(client, path).readLock },
];
