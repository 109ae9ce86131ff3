import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  type AcquireOptions,
  type Hold,
  type LockClient,
} from '../../src/index.ts';

/** What is acquired one at a time. */
export interface Lock {
  acquire(options?: AcquireOptions): Promise<Hold>;
  tryAcquire(): Promise<Hold | undefined>;
}

/** A kind of lock that the faults happen to. */
export interface Kind {
  /**
   * Where its znodes stand, behind the lock's own path: first those that are held, then those of the turn to create
   * one, if there are such.
   */
  readonly folders: readonly string[];
  /** How many of those who exclude each other may be in at once. */
  readonly most: number;
  excludes(one: Hold, other: Hold): boolean;
  /** What an acquire is of where nothing else is said. */
  usual(client: LockClient, path: string): Lock;
  /** Everything there is: whoever gets it was alone. */
  acquireAll(client: LockClient, path: string, options: AcquireOptions): Promise<readonly Hold[]>;
}

export const mutex: Kind = {
  folders: [''],
  most: 1,
  excludes: () => true,
  usual: (client, path) => new InterProcessMutex(client, path),
  acquireAll: async (client, path, options) => [await new InterProcessMutex(client, path).acquire(options)],
};

export const readWrite: Kind = {
  folders: [''],
  most: 1,
  excludes: (one, other) => (isWriters(one) || isWriters(other)) && !isDowngrade(one, other),
  usual: (client, path) => new InterProcessReadWriteLock(client, path).writeLock,
  acquireAll: async (client, path, options) => [
    await new InterProcessReadWriteLock(client, path).writeLock.acquire(options),
  ],
};

export const weighted: Kind = {
  ...mutex,
  usual: (client, path) => new InterProcessMutex(client, path, { weights: {} }),
  acquireAll: async (client, path, options) => [
    await new InterProcessMutex(client, path, { weights: {} }).acquire(options),
  ],
};

export function semaphore(maxLeases: number): Kind {
  return semaphoreOf(maxLeases, (client, path) => new InterProcessSemaphore(client, path, { maxLeases }));
}

/** Two leases in the end. */
export const sharedSemaphore: Kind = semaphoreOf(
  2,
  (client, path) => new InterProcessSemaphore(client, path, { sharedCount: countPath(path) }),
);

/** Where a shared semaphore's count is. */
export function countPath(path: string): string {
  return `${path}-count`;
}

function semaphoreOf(most: number, open: (client: LockClient, path: string) => InterProcessSemaphore): Kind {
  return {
    folders: ['/leases', '/locks'],
    most,
    excludes: () => true,
    usual: open,
    acquireAll: (client, path, options) => open(client, path).acquireMany(most, options),
  };
}

function isWriters({ path }: Hold): boolean {
  return path.includes('__WRIT__');
}

/** One owner's: no other two share a token. */
function isDowngrade(one: Hold, other: Hold): boolean {
  return isWriters(one) !== isWriters(other) && one.fencingToken === other.fencingToken;
}
