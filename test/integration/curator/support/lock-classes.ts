import { InterProcessMutex, type LockClient } from '../../../../src/index.ts';

/** What Curator asks of every InterProcessLock. */
export type LockUnderTest = Pick<InterProcessMutex, 'acquire' | 'tryAcquire' | 'withLock' | 'participants' | 'isAcquiredInThisProcess'>;

export interface LockClass {
  readonly name: string;
  /** Curator skips its tests of re-entrancy for the locks that are not. */
  readonly isReentrant: boolean;
  make(client: LockClient, path: string): LockUnderTest;
}

/** The classes that TestInterProcessMutexBase runs for. */
export const lockClasses: readonly LockClass[] = [
  { name: 'InterProcessMutex', isReentrant: true, make: (client, path) => new InterProcessMutex(client, path) },
];
