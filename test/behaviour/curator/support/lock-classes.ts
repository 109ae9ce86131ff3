import {
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphoreMutex,
  type AcquireOptions,
  type Hold,
  type LockClient,
  type Participant,
  type ReleaseOutcome,
} from '../../../../src/index.ts';

/** The members of a hold that Curator's tests use. */
export interface HoldUnderTest extends AsyncDisposable {
  readonly path: string;
  readonly isValid: boolean;
  release(): Promise<ReleaseOutcome>;
}

/** The methods of Curator's InterProcessLock. */
export interface LockUnderTest {
  acquire(options?: AcquireOptions): Promise<HoldUnderTest>;
  tryAcquire(timeoutMs?: number): Promise<HoldUnderTest | undefined>;
  withLock<T>(job: (hold: HoldUnderTest) => Promise<T>): Promise<T>;
  participants(): Promise<Participant[]>;
  readonly isAcquiredInThisProcess: boolean;
}

export interface LockClass {
  readonly name: string;
  /** Curator skips its re-entrancy tests for locks that are not re-entrant. */
  readonly isReentrant: boolean;
  /** True if several owners are inside at a time: the tests of exclusion do not apply. */
  readonly isShared?: boolean;
  /** The folder of its holds' znodes. */
  folder(path: string): string;
  make(client: LockClient, path: string): LockUnderTest;
}

/** The classes for which TestInterProcessMutexBase runs. */
export const lockClasses: readonly LockClass[] = [
  {
    name: 'InterProcessMutex',
    isReentrant: true,
    folder: (path) => path,
    make: (client, path) => new InterProcessMutex(client, path),
  },
  { name: 'InterProcessMultiLock', isReentrant: true, folder: (path) => `${path}-1`, make: makeMultiLock },
  {
    name: 'InterProcessSemaphoreMutex',
    isReentrant: false,
    folder: (path) => `${path}/leases`,
    make: makeSemaphoreMutex,
  },
  {
    name: 'a write lock',
    isReentrant: true,
    folder: (path) => path,
    make: (client, path) => new InterProcessReadWriteLock(client, path).writeLock,
  },
  {
    name: 'a read lock',
    isReentrant: true,
    isShared: true,
    folder: (path) => path,
    make: (client, path) => new InterProcessReadWriteLock(client, path).readLock,
  },
];

/**
 * A multi-lock of two mutexes, as in Curator. Its path and its queue are those of the first mutex, which every owner
 * acquires first.
 */
function makeMultiLock(client: LockClient, path: string): LockUnderTest {
  const first = new InterProcessMutex(client, `${path}-1`);
  const lock = new InterProcessMultiLock<Hold>([new InterProcessMutex(client, `${path}-2`), first]);
  const underTest = (hold: Awaited<ReturnType<typeof lock.acquire>>): HoldUnderTest => ({
    path: hold.holds[0]?.path ?? '',
    get isValid() {
      return hold.isValid;
    },
    release: () => hold.release(),
    [Symbol.asyncDispose]: () => hold[Symbol.asyncDispose](),
  });
  return {
    acquire: async (options) => underTest(await lock.acquire(options)),
    tryAcquire: async (timeoutMs) => {
      const hold = await lock.tryAcquire(timeoutMs);
      return hold && underTest(hold);
    },
    withLock: (job) => lock.withLock((hold) => job(underTest(hold))),
    participants: () => first.participants(),
    get isAcquiredInThisProcess() {
      return lock.isAcquiredInThisProcess;
    },
  };
}

/**
 * Its participants are the leases and the waiters of its inner mutex. The first waiter of that mutex already has a
 * znode among the leases.
 */
function makeSemaphoreMutex(client: LockClient, path: string): LockUnderTest {
  const lock = new InterProcessSemaphoreMutex(client, path);
  const queue = new InterProcessMutex(client, `${path}/locks`);
  return {
    acquire: (options) => lock.acquire(options),
    tryAcquire: (timeoutMs) => lock.tryAcquire(timeoutMs),
    withLock: (job) => lock.withLock(job),
    participants: async () => {
      const [leases, waiting] = await Promise.all([lock.participants(), queue.participants()]);
      return [...leases, ...waiting.slice(1)];
    },
    get isAcquiredInThisProcess() {
      return lock.isAcquiredInThisProcess;
    },
  };
}
