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

/** What Curator's tests look at in a hold. */
export interface HoldUnderTest extends AsyncDisposable {
  readonly path: string;
  readonly isValid: boolean;
  release(): Promise<ReleaseOutcome>;
}

/** What Curator asks of every InterProcessLock. */
export interface LockUnderTest {
  acquire(options?: AcquireOptions): Promise<HoldUnderTest>;
  tryAcquire(timeoutMs?: number): Promise<HoldUnderTest | undefined>;
  withLock<T>(job: (hold: HoldUnderTest) => Promise<T>): Promise<T>;
  participants(): Promise<Participant[]>;
  readonly isAcquiredInThisProcess: boolean;
}

export interface LockClass {
  readonly name: string;
  /** Curator skips its tests of re-entrancy for the locks that are not. */
  readonly isReentrant: boolean;
  /** Several owners are inside at a time, so that its tests of exclusion are not for this one. */
  readonly isShared?: boolean;
  /** Where the znodes of its holds are. */
  folder(path: string): string;
  make(client: LockClient, path: string): LockUnderTest;
}

/** The classes that TestInterProcessMutexBase runs for. */
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
    name: 'the write lock of InterProcessReadWriteLock',
    isReentrant: true,
    folder: (path) => path,
    make: (client, path) => new InterProcessReadWriteLock(client, path).writeLock,
  },
  {
    name: 'the read lock of InterProcessReadWriteLock',
    isReentrant: true,
    isShared: true,
    folder: (path) => path,
    make: (client, path) => new InterProcessReadWriteLock(client, path).readLock,
  },
];

/** Of two mutexes, as in Curator. Its path and its queue are those of the first, which all take first. */
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
 * Who stands in line at its inner mutex is in its queue, too; the first of them has a znode among the leases already.
 */
function makeSemaphoreMutex(client: LockClient, path: string): LockUnderTest {
  const lock = new InterProcessSemaphoreMutex(client, path);
  const line = new InterProcessMutex(client, `${path}/locks`);
  return {
    acquire: (options) => lock.acquire(options),
    tryAcquire: (timeoutMs) => lock.tryAcquire(timeoutMs),
    withLock: (job) => lock.withLock(job),
    participants: async () => {
      const [leases, waiting] = await Promise.all([lock.participants(), line.participants()]);
      return [...leases, ...waiting.slice(1)];
    },
    get isAcquiredInThisProcess() {
      return lock.isAcquiredInThisProcess;
    },
  };
}
