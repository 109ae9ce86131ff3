import {
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  type AcquireOptions,
  type Hold,
  type LockClient,
} from '../../src/index.ts';

/** A lock that is acquired once at a time. */
export interface Lock {
  acquire(options?: AcquireOptions): Promise<Hold>;
  tryAcquire(): Promise<Hold | undefined>;
}

/** A kind of lock to which the faults happen. */
export interface LockKind {
  /**
   * The folders of its znodes below the lock's own path: first the folder of the znodes that are held, then that of the
   * turn to create one, if there is such a folder.
   */
  readonly folders: readonly string[];
  /** How many owners that exclude each other may hold at once. */
  readonly most: number;
  excludes(one: Hold, other: Hold): boolean;
  /** Opens the lock that an acquire uses by default. */
  open(client: LockClient, path: string): Lock;
  /** Acquires the whole lock, so the caller is the only owner. */
  acquireAll(client: LockClient, path: string, options: AcquireOptions): Promise<readonly Hold[]>;
}

export const mutex: LockKind = {
  folders: [''],
  most: 1,
  excludes: () => true,
  open: (client, path) => new InterProcessMutex(client, path),
  acquireAll: async (client, path, options) => [await new InterProcessMutex(client, path).acquire(options)],
};

export const readWrite: LockKind = {
  folders: [''],
  most: 1,
  excludes: (one, other) => (isWriters(one) || isWriters(other)) && !isDowngrade(one, other),
  open: (client, path) => new InterProcessReadWriteLock(client, path).writeLock,
  acquireAll: async (client, path, options) => [
    await new InterProcessReadWriteLock(client, path).writeLock.acquire(options),
  ],
};

export const weighted: LockKind = {
  ...mutex,
  open: (client, path) => new InterProcessMutex(client, path, { weights: {} }),
  acquireAll: async (client, path, options) => [
    await new InterProcessMutex(client, path, { weights: {} }).acquire(options),
  ],
};

/** Two mutexes that are acquired together. */
export const multiLock: LockKind = {
  ...mutex,
  folders: ['', '-second'],
  excludes: (one, other) => one.path.split('/')[2] === other.path.split('/')[2],
  acquireAll: async (client, path, options) => {
    const both = [new InterProcessMutex(client, path), new InterProcessMutex(client, `${path}-second`)];
    return (await new InterProcessMultiLock(both).acquire(options)).holds;
  },
};

export function semaphore(maxLeases: number): LockKind {
  return semaphoreOf(maxLeases, (client, path) => new InterProcessSemaphore(client, path, { maxLeases }));
}

/** Two leases at the end. */
export const sharedSemaphore: LockKind = semaphoreOf(
  2,
  (client, path) => new InterProcessSemaphore(client, path, { sharedCount: countPath(path) }),
);

/** The path of a shared semaphore's count. */
export function countPath(path: string): string {
  return `${path}-count`;
}

function semaphoreOf(most: number, open: (client: LockClient, path: string) => InterProcessSemaphore): LockKind {
  return {
    folders: ['/leases', '/locks'],
    most,
    excludes: () => true,
    open,
    acquireAll: (client, path, options) => open(client, path).acquireMany(most, options),
  };
}

function isWriters({ path }: Hold): boolean {
  return path.includes('__WRIT__');
}

/** True for two holds of one owner, because no other two holds share a token. */
function isDowngrade(one: Hold, other: Hold): boolean {
  return isWriters(one) !== isWriters(other) && one.fencingToken === other.fencingToken;
}
