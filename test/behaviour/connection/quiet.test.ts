import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  type Hold,
  type LockClient,
  type MutexAcquireOptions,
} from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { connectInOrder, nextState } from '../../../lab/lock-clients.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import { rejection, until } from '../../../lab/until.ts';
import type { Frame } from '../../../lab/proxy/zk-proxy.ts';
import { setCount } from '../../../lab/semaphores.ts';
import { proxiedTripMs } from '../../../lab/world.ts';

const sessionTimeoutMs = 3_000;

interface Kind {
  readonly name: string;
  /** The lock of a holder, and of a waiter that stands before the quiet session's waiter. */
  lockOf(client: LockClient, path: string): Lock;
  /** The lock of the quiet session. */
  quietLockOf(client: LockClient, path: string): Lock;
  readonly weight?: number;
  /** The folder of the znodes below the lock's own path. @default none */
  readonly folder?: string;
}

interface Lock {
  acquire(options?: MutexAcquireOptions): Promise<Hold>;
}

const mutexOf = (client: LockClient, path: string): InterProcessMutex => new InterProcessMutex(client, path);
const weightedOf = (client: LockClient, path: string): InterProcessMutex =>
  new InterProcessMutex(client, path, { weights: {} });

const kinds: readonly Kind[] = [
  { name: 'waiter', lockOf: mutexOf, quietLockOf: mutexOf },
  {
    name: 'reader',
    lockOf: (client, path) => new InterProcessReadWriteLock(client, path).writeLock,
    quietLockOf: (client, path) => new InterProcessReadWriteLock(client, path).readLock,
  },
  { name: 'waiter with a weight', lockOf: weightedOf, quietLockOf: weightedOf, weight: 5 },
];

const sharedOf = (client: LockClient, path: string): InterProcessSemaphore =>
  new InterProcessSemaphore(client, path, { sharedCount: countPath(path) });
/** Below the root, which exists. */
const countPath = (path: string): string => `/count${path.replaceAll('/', '-')}`;

/** A waiter for a lease holds the turn of the semaphore, so the call behind it waits for the turn, and is next there. */
const kindsThatAreNext: readonly Kind[] = [
  ...kinds,
  { name: 'waiter for a shared count', lockOf: sharedOf, quietLockOf: sharedOf, folder: '/leases' },
];

describe('a session', () => {
  const lab = labOfEachTest('quiet', { server: 'own', proxy: true, client: { sessionTimeoutMs } });
  /** Clients that do not use the proxy, and whose sessions outlive each test. */
  const rivals = (count: number): Promise<LockClient[]> =>
    Promise.all(Array.from({ length: count }, () => lab.connect({ sessionTimeoutMs: 30_000 }, lab.connectString)));

  /** The requests that the client sends until it has sent `count` more of these. */
  const sentUntil = async (op: Frame['op'], count: number): Promise<Set<Frame['op']>> => {
    lab.proxy.clear();
    await lab.proxy.seen(sent(op), count);
    return new Set(lab.proxy.frames.filter(({ from }) => from === 'client').map((frame) => frame.op));
  };

  const isQueued = (path: string, count: number): Promise<void> =>
    until(`${count} are queued`, async () => (await lab.observer.children(path)).length === count);

  /** Creates what the lock needs besides its own path. */
  const prepare = async ({ folder }: Kind, path: string): Promise<void> => {
    if (folder === undefined) return;
    await lab.observer.create(countPath(path));
    await setCount(lab.other, countPath(path), 1);
  };

  it('without holds and waiters sends nothing but a ping per third of the timeout', async () => {
    await lab.proxy.seen(sent('ping'));
    const startedAt = lab.now();
    expect(await sentUntil('ping', 6)).to.deep.equal(new Set(['ping']));
    expect(lab.now() - startedAt).to.be.closeTo(6 * (sessionTimeoutMs / 3), 10);
  });

  it('whose waiters are not next sends nothing but a sync per third of the timeout', async () => {
    const [holder, next] = await rivals(2);
    if (!holder || !next) throw new Error('no rivals');
    const stop = new AbortController();
    const { signal } = stop;
    const holds: Hold[] = [];
    const waits: Promise<Error>[] = [];
    for (const [index, { lockOf, quietLockOf, weight }] of kinds.entries()) {
      const path = `${lab.path}-${index}`;
      holds.push(await lockOf(holder, path).acquire());
      waits.push(rejection(lockOf(next, path).acquire(weight === undefined ? { signal } : { signal, weight })));
      await isQueued(path, 2);
      waits.push(rejection(quietLockOf(lab.client, path).acquire({ signal })));
      await isQueued(path, 3);
    }
    // The attach of these waits sends its proof, and the waiters' own watches are planted after a delay.
    await sentUntil('sync', 4);
    expect(await sentUntil('sync', 5)).to.deep.equal(new Set(['sync']));
    stop.abort();
    await Promise.all(waits);
    for (const hold of holds) await hold.release();
  });

  for (const kind of kindsThatAreNext) {
    const { name, lockOf, quietLockOf, folder = '' } = kind;
    it(`whose ${name} is next sends heartbeats`, async () => {
      const [holder] = await rivals(1);
      if (!holder) throw new Error('no rival');
      await prepare(kind, lab.path);
      const held = await lockOf(holder, lab.path).acquire();
      const waiting = quietLockOf(lab.client, lab.path).acquire();
      await isQueued(`${lab.path}${folder}`, 2);
      // Without a proof, the waiter for a lease would lose its turn, and queue up again.
      expect(await sentUntil('multi', 8))
        .to.include('multi')
        .and.not.include('create2');
      lab.proxy.clear();
      await held.release();
      await (await waiting).release();
      // The session is proven, so the grant needs no new connection.
      expect(lab.proxy.frames.filter(sent('connect'))).to.deep.equal([]);
    });
  }

  it('whose waiters were next and gave up sends pings after one timeout', async () => {
    const [holder] = await rivals(1);
    if (!holder) throw new Error('no rival');
    const stop = new AbortController();
    const holds: Hold[] = [];
    const waits: Promise<Error>[] = [];
    for (const [index, kind] of kindsThatAreNext.entries()) {
      const { lockOf, quietLockOf, folder = '' } = kind;
      const path = `${lab.path}-${index}`;
      await prepare(kind, path);
      holds.push(await lockOf(holder, path).acquire());
      waits.push(rejection(quietLockOf(lab.client, path).acquire({ signal: stop.signal })));
      await isQueued(`${path}${folder}`, 2);
    }
    await lab.proxy.seen(sent('multi'));
    stop.abort();
    await Promise.all(waits);
    // The session may have sent a ping before its first wait.
    lab.proxy.clear();
    await lab.proxy.seen(sent('ping'));
    expect(await sentUntil('ping', 3)).to.deep.equal(new Set(['ping']));
    for (const hold of holds) await hold.release();
  });

  it('with an idle sticky lock sends heartbeats, and the next acquire needs no request', async () => {
    const sticky = new InterProcessMutex(lab.client, lab.path, { sticky: { idleMs: 60_000 } });
    await sticky.withLock(() => undefined);
    expect(await sentUntil('multi', 8)).to.include('multi');
    lab.proxy.clear();
    await using _hold = await sticky.acquire();
    expect(
      lab.proxy.frames.filter(({ from, op }) => from === 'client' && op !== 'multi' && op !== 'sync'),
    ).to.deep.equal([]);
  });

  it('sends heartbeats for one timeout after its last hold, and then pings', async () => {
    let releasedAt = Infinity;
    await lab.mutex.withLock(() => (releasedAt = lab.now()));
    // The session may have sent a ping before its hold.
    lab.proxy.clear();
    await lab.proxy.seen(sent('ping'));
    // Each pulse follows the answer to the one before, by a timer of whole milliseconds.
    const latestMs = sessionTimeoutMs + 6 * (proxiedTripMs + 1);
    expect(lab.now() - releasedAt).to.be.within(sessionTimeoutMs, latestMs);
    expect(lab.proxy.frames.filter(sent('multi'))).to.have.length(5);
    expect(await sentUntil('ping', 3)).to.deep.equal(new Set(['ping']));
  });

  it('goes on with its heartbeats while one of two locks is held', async () => {
    const other = new InterProcessMutex(lab.client, `${lab.path}-other`);
    const [hold] = [await lab.mutex.acquire(), await other.withLock(() => undefined)];
    await lab.sleep(2 * sessionTimeoutMs);
    lab.proxy.clear();
    await lab.sleep(sessionTimeoutMs);
    expect(lab.proxy.frames.filter(sent('multi')).length).to.be.within(5, 7);
    expect(hold.isValid).to.equal(true);
    await hold.release();
  });

  it('proves itself on its second connection if the first one ends before an answer', async () => {
    once(lab.proxy, answered('multi'), 'cut');
    // The next pulse would come later.
    const client = await lab.connect({ sessionTimeoutMs: 30_000, connectionTimeoutMs: 5_000 });
    expect(client.session.epoch).to.equal(2);
    expect(client.session.isProven).to.equal(true);
  });

  it('that is quiet writes nothing when it reconnects', async () => {
    await lab.proxy.seen(sent('ping'));
    lab.proxy.cut();
    expect(await nextState(lab.client)).to.equal('suspended');
    expect(await nextState(lab.client)).to.equal('reconnected');
    expect(await sentUntil('ping', 4)).to.deep.equal(new Set(['ping']));
  });

  it('with a waiter that is not next keeps its place under a half-open link', async () => {
    const [holder, next] = await rivals(2);
    if (!holder || !next) throw new Error('no rivals');
    const held = await new InterProcessMutex(holder, lab.path).acquire();
    const second = new InterProcessMutex(next, lab.path).acquire();
    await isQueued(lab.path, 2);
    await using client = await connectInOrder([lab.proxy, lab.server], { sessionTimeoutMs });
    const third = new InterProcessMutex(client, lab.path).acquire();
    await isQueued(lab.path, 3);
    const { id } = client.session;
    lab.proxy.clear();
    await lab.proxy.seen(sent('sync'));
    const askedAt = lab.now();
    await lab.proxy.seen(sent('sync'), 2);
    lab.proxy.silence();
    expect(await nextState(client)).to.equal('suspended');
    expect(lab.now() - askedAt).to.be.closeTo((sessionTimeoutMs * 2) / 3, 10);
    expect(await nextState(client)).to.equal('reconnected');
    expect(client.session.id).to.equal(id);
    await held.release();
    await (await second).release();
    await (await third).release();
  });
});
