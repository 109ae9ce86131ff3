import { once } from 'node:events';
import { expect } from 'chai';
import {
  forceRelease,
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LockClient,
  LockTimeoutError,
  type AclEntry,
  type AcquireOptions,
  type Hold,
} from '../../../src/index.ts';
import { sharedZooKeeper } from '../../../lab/hooks.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection, until } from '../../../lab/until.ts';
import { codeMs } from '../../../lab/world.ts';

type Options = Record<string, unknown>;

/**
 * Changes that a caller may make to its object while the call waits: by mistake, or because it reuses the object for
 * the next call.
 */
const changes: readonly [string, (options: Options) => void][] = [
  ['emptied', (options) => Object.keys(options).forEach((option) => Reflect.deleteProperty(options, option))],
  ...['timeoutMs', 'signal', 'leaseMs', 'renewEveryMs', 'releaseTimeoutMs', 'data', 'weight'].flatMap(
    (option): [string, (options: Options) => void][] =>
      [undefined, null, NaN, 0, 1, 'other', AbortSignal.abort(), Buffer.from('other')].map((value, index) => [
        `changed in their ${option} (${index})`,
        (options) => (options[option] = value),
      ]),
  ),
  ['changed in the bytes of their data', ({ data }) => (data as Buffer).fill(0)],
  [
    'given a getter that throws',
    (options) =>
      ['timeoutMs', 'signal', 'leaseMs', 'renewEveryMs', 'releaseTimeoutMs', 'data', 'weight'].forEach((option) =>
        Object.defineProperty(options, option, { get: fail }),
      ),
  ],
];

function fail(): never {
  throw new Error('read after the call');
}

/** Every lock that waits for a hold. */
const locks: readonly [
  string,
  (client: LockClient, path: string) => (options: Options) => Promise<PromiseLike<unknown> | Held>,
][] = [
  ['a mutex', (client, path) => (options) => new InterProcessMutex(client, path).acquire(options)],
  [
    'a mutex that is tried',
    (client, path) => (options) => new InterProcessMutex(client, path).tryAcquire(options) as Promise<Hold>,
  ],
  [
    'a mutex with weights',
    (client, path) => (options) =>
      new InterProcessMutex(client, path, { weights: {} }).acquire(Object.assign(options, { weight: 3 })),
  ],
  ['a writer', (client, path) => (options) => new InterProcessReadWriteLock(client, path).writeLock.acquire(options)],
  [
    'a semaphore',
    (client, path) => (options) => new InterProcessSemaphore(client, path, { maxLeases: 1 }).acquire(options),
  ],
  ['a semaphore mutex', (client, path) => (options) => new InterProcessSemaphoreMutex(client, path).acquire(options)],
  [
    'a multi-lock',
    (client, path) => (options) => new InterProcessMultiLock([new InterProcessMutex(client, path)]).acquire(options),
  ],
];

interface Held {
  readonly remainingMs: number;
  readonly isValid: boolean;
  renew(leaseMs: number): void;
  release(): Promise<unknown>;
}

describe('options that change after the call', () => {
  let connectString: string;
  let client: LockClient;
  let other: LockClient;

  before(async () => {
    ({ connectString } = await sharedZooKeeper());
    // A grant has a quarter of the session timeout of 30 s left, and longer leases would not decide the remaining time.
    [client, other] = await Promise.all([LockClient.connect(connectString), LockClient.connect(connectString)]);
  });

  after(() => Promise.all([client.close(), other.close()]));

  for (const [what, acquirer] of locks) {
    for (const [how, change] of changes)
      it(`an acquire: the options for ${what} are ${how}, and the hold keeps what was requested`, async () => {
        const path = testPath('changed');
        // Another object of the same kind, because znodes of other kinds would be refused.
        const first = (await acquirer(other, path)({})) as Held;
        const signal = new AbortController();
        const options: Options = {
          timeoutMs: 600_000,
          signal: signal.signal,
          leaseMs: 6_000,
          renewEveryMs: 4_000,
          ...(how.includes('data') && { data: Buffer.from('mine') }),
        };
        const waiting = acquirer(client, path)(options);
        change(options);
        // Read right after the grant, which may arrive before the answer to the release.
        const granted = waiting.then((hold) => [hold as Held, (hold as Held).remainingMs] as const);
        await first.release();
        const [hold, remainingMs] = await granted;
        expect(hold.isValid).to.equal(true);
        expect(remainingMs).to.be.closeTo(6_000, 1 + codeMs);
        expect(() => hold.renew(4_000), 'the interval of its renewal').to.throw(RangeError, 'less than `leaseMs`');
        const [holder] = await participantsOf(what, other, path);
        expect(holder?.data.toString() === 'mine').to.equal(how.includes('data'));
        await hold.release();
      });
  }

  for (const [how, change] of changes.filter(([each]) => /timeoutMs|emptied|getter/.test(each)))
    it(`an acquire: the options are ${how}, and the deadline stays`, async () => {
      const path = testPath('changed');
      await using hold = await new InterProcessMutex(other, path).acquire();
      const options: Options = { timeoutMs: 50 };
      const error = rejection(new InterProcessMutex(client, path).acquire(options));
      change(options);
      expect(await error)
        .to.be.instanceOf(LockTimeoutError)
        .with.property('message')
        .that.includes('50 ms');
      expect(hold.isValid).to.equal(true);
    });

  it('an acquire: its first signal ends the wait, and a signal that replaces it does not', async () => {
    const path = testPath('changed');
    await using hold = await new InterProcessMutex(other, path).acquire();
    const [own, another] = [new AbortController(), new AbortController()];
    const options = { signal: own.signal };
    const waiting = rejection(new InterProcessMutex(client, path).acquire(options));
    options.signal = another.signal;
    another.abort(new Error('another'));
    await until('it waits', async () => (await new InterProcessMutex(other, path).participants()).length === 2);
    own.abort(new Error('own'));
    expect(await waiting).to.have.property('message', 'own');
    expect(hold.isValid).to.equal(true);
  });

  it('an acquire: its lease is renewed at the first interval', async () => {
    const mutex = new InterProcessMutex(client, testPath('changed'));
    // Less than a session of 30 s always has left: its deadline would otherwise hide that the lease is longer.
    const options: Options = { leaseMs: 10_000, renewEveryMs: 20 };
    const acquiring = mutex.acquire(options);
    Object.assign(options, { leaseMs: 60_000, renewEveryMs: 50_000 });
    await using hold = await acquiring;
    const renewed = new Promise<{ remainingMs: number }>((resolve) => mutex.once('renewed', resolve));
    expect((await renewed).remainingMs).to.be.within(1, 10_000);
    expect(hold.isValid).to.equal(true);
  });

  it('withLock: the lease keeps its length', async () => {
    const options: AcquireOptions & { leaseMs: number } = { leaseMs: 5_000 };
    const done = new InterProcessMutex(client, testPath('changed')).withLock((hold) => hold.remainingMs, options);
    options.leaseMs = NaN;
    expect(await done).to.be.within(1, 5_000);
  });

  it('a sticky mutex: it is given up after the first idleMs', async () => {
    const path = testPath('changed');
    const sticky = { idleMs: 0 };
    const options: Options = { sticky };
    const mutex = new InterProcessMutex(client, path, options);
    Object.assign(sticky, { idleMs: 3_600_000 });
    Object.assign(options, { sticky: undefined });
    await mutex.withLock(() => undefined);
    await until('it is given up', async () => (await new InterProcessMutex(other, path).participants()).length === 0);
  });

  it('a mutex: its driver and its foreignNodes stay', async () => {
    const path = testPath('changed');
    const options: Options = { foreignNodes: 'reject', weights: {} };
    const mutex = new InterProcessMutex(client, path, options);
    Object.assign(options, { foreignNodes: 'wait', driver: undefined });
    expect(await mutex.withLock((hold) => hold.isValid, { weight: 2 })).to.equal(true);
  });

  it('a read/write lock: both sides write the first data', async () => {
    const data = Buffer.from('mine');
    const options: Options = { data };
    const { readLock } = new InterProcessReadWriteLock(client, testPath('changed'), options);
    data.fill(0);
    Object.assign(options, { data: undefined });
    await readLock.withLock(async () => expect((await readLock.participants())[0]?.data.toString()).to.equal('mine'));
  });

  it('a semaphore: it keeps its number of leases', async () => {
    const options: Options = { maxLeases: 1 };
    const semaphore = new InterProcessSemaphore(client, testPath('changed'), options as { maxLeases: number });
    Object.assign(options, { maxLeases: 5 });
    await using _lease = await semaphore.acquire();
    expect(await semaphore.tryAcquire()).to.equal(undefined);
  });

  it('a multi-lock: it keeps its locks', async () => {
    const locksOfIt = [new InterProcessMutex(client, testPath('changed'))];
    const both = new InterProcessMultiLock(locksOfIt);
    locksOfIt.push(new InterProcessMutex(client, testPath('changed')));
    await using hold = await both.acquire();
    expect(hold.holds).to.have.lengthOf(1);
  });

  it('forceRelease: the participant keeps its time', async () => {
    const hold = await new InterProcessMutex(other, testPath('changed')).acquire();
    const options: Options = { timeoutMs: 60_000 };
    const forced = forceRelease(client, hold.path, options);
    Object.assign(options, { timeoutMs: 0, signal: AbortSignal.abort() });
    if (!hold.signal.aborted) await once(hold.signal, 'abort');
    await hold.release();
    expect(await forced).to.equal('released');
  });

  it('a client: its ACL, its retry policy and its timeouts stay', async () => {
    const acl: AclEntry[] = [{ permissions: 31, scheme: 'world', id: 'anyone' }];
    const auth = [{ scheme: 'digest', credentials: 'user:secret' }];
    const options: Options = {
      sessionTimeoutMs: 10_000,
      connectionTimeoutMs: 20_000,
      acl,
      auth,
      retryPolicy: undefined,
      tickTimeMs: undefined,
      signal: new AbortController().signal,
    };
    const connecting = LockClient.connect(connectString, options);
    acl.length = 0;
    Object.assign(auth[0] as object, { scheme: 5 });
    Object.assign(options, {
      sessionTimeoutMs: NaN,
      connectionTimeoutMs: 0,
      acl: () => [],
      auth: 5,
      retryPolicy: 5,
      tickTimeMs: NaN,
      signal: AbortSignal.abort(),
    });
    await using mine = await connecting;
    expect(mine.sessionTimeoutMs).to.equal(10_000);
    expect(await new InterProcessMutex(mine, testPath('changed')).withLock((hold) => hold.remainingMs)).to.be.within(
      1,
      10_000,
    );
  });

  it('close: the servers keep their time', async () => {
    const mine = await LockClient.connect(connectString);
    const path = testPath('changed');
    await new InterProcessMutex(mine, path).acquire();
    const options = { timeoutMs: 10_000 };
    const closed = mine.close(options);
    options.timeoutMs = 0;
    await closed;
    expect(await new InterProcessMutex(other, path).participants()).to.deep.equal([]);
  });
});

async function participantsOf(what: string, client: LockClient, path: string): Promise<{ readonly data: Buffer }[]> {
  if (what === 'a writer') return new InterProcessReadWriteLock(client, path).writeLock.participants();
  if (what === 'a mutex with weights') return new InterProcessMutex(client, path, { weights: {} }).participants();
  if (what.startsWith('a semaphore')) return new InterProcessSemaphore(client, path, { maxLeases: 1 }).participants();
  return new InterProcessMutex(client, path).participants();
}
