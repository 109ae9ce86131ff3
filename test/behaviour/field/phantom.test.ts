import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  type Hold,
  type LockClient,
} from '../../../src/index.ts';
import { getChildren, getData } from '../../../src/zookeeper/wire/operations.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { once, sent } from '../../../lab/proxy/frame-matches.ts';
import { startProxy, type Frame, type ZkProxy } from '../../../lab/proxy/zk-proxy.ts';
import { showPhantom } from '../../../lab/proxy/phantom.ts';
import { rejection, until } from '../../../lab/until.ts';
import { Resolver } from '../../../lab/resolver.ts';
import { InProcess } from '../operator/in-process.ts';
import { awaitedLater, keepsWarnings, statesOf } from './support.ts';

const sessionTimeoutMs = 4_000;

type Acquire = (client: LockClient, path: string, signal?: AbortSignal) => Promise<Pick<Hold, 'path' | 'release'>>;

const mutex: Acquire = (client, path, signal) => new InterProcessMutex(client, path).acquire({ signal });

const kinds: Readonly<Record<string, Acquire>> = {
  mutex,
  writer: (client, path) => new InterProcessReadWriteLock(client, path).writeLock.acquire(),
  weights: (client, path) => new InterProcessMutex(client, path, { weights: { overtakesPerWeight: 1 } }).acquire(),
  lease: (client, path) => new InterProcessSemaphore(client, path, { maxLeases: 1 }).acquire(),
};

describe('FIELD D1: a znode that only one follower still shows', () => {
  const lab = labOfEachTest('phantom', { server: 'own', proxy: true });
  let ill: ZkProxy;
  let well: ZkProxy;
  let client: LockClient;
  let warnings: string[];

  beforeEach(async () => {
    ill = lab.proxy;
    well = await startProxy(lab.server.port);
    await well.admit('refused');
    const kept = keepsWarnings();
    ({ warnings } = kept);
    client = await lab.connect({ sessionTimeoutMs, logger: kept.logger }, `${ill.connectString},${well.connectString}`);
    await well.admit('served');
  });

  afterEach(() => well.close());

  const readsHeld = (path: string): Promise<Frame> =>
    ill.seen((frame) => frame.from === 'server' && frame.op === 'getData' && frame.path === path && frame.err === 0);

  for (const [kind, acquire] of Object.entries(kinds))
    it(`${kind}: the quorum is asked, and the waiter goes to another server without a gap`, async () => {
      const held = await acquire(lab.other, lab.path);
      const waiting = awaitedLater(acquire(client, lab.path));
      if (kind === 'lease') await client.host.sessions.current.request(getData(held.path, false));
      else await readsHeld(held.path);
      const states = statesOf(client);
      showPhantom(ill, held.path);
      await held.release();
      const releasedAt = lab.now();
      const hold = await waiting;
      expect(lab.now() - releasedAt).to.be.below(2 * sessionTimeoutMs);
      expect(states).to.deep.equal([]);
      expect(warnings).to.have.length(1);
      expect(warnings[0]).to.contain(`${ill.connectString} shows ${held.path}, which the quorum does not have`);
      expect(client.health().server).to.equal(well.connectString);
      await hold.release();
    });

  const reader: Acquire = (of, path, signal) => new InterProcessReadWriteLock(of, path).readLock.acquire({ signal });
  const writer: Acquire = (of, path) => new InterProcessReadWriteLock(of, path).writeLock.acquire();
  for (const [kind, acquire, takes] of [
    ['mutex', mutex, [mutex, mutex]],
    ['mutex', mutex, [mutex, mutex, mutex]],
    ['writer', writer, [reader, reader]],
    ['reader', reader, [writer, writer, reader]],
  ] as const)
    it(`${kind}: behind ${takes.length} such znodes, of one session that has ended`, async () => {
      const dead: Promise<Pick<Hold, 'path' | 'release'>>[] = [];
      const paths: string[] = [];
      for (const take of takes) {
        dead.push(awaitedLater(take(lab.other, lab.path)));
        await lab.sleep(100);
      }
      const { sessions } = client.host;
      for (const name of (await sessions.current.request(getChildren(lab.path))).value)
        paths.push(`${lab.path}/${name}`);
      const waiting = awaitedLater(acquire(client, lab.path));
      await lab.sleep(100);
      for (const path of paths) {
        await sessions.current.request(getData(path, false));
        showPhantom(ill, path);
      }
      await lab.other.close();
      await lab.sleep(100);
      let hold: Pick<Hold, 'release'> | undefined;
      void waiting.then((granted) => (hold = granted));
      await lab.sleep((takes.length * 10 - 1) * sessionTimeoutMs);
      expect(hold).to.equal(undefined);
      await lab.sleep(3 * sessionTimeoutMs);
      expect(client.health().server).to.equal(well.connectString);
      await hold?.release();
      expect(hold).to.not.equal(undefined);
      await Promise.allSettled(dead);
    }).timeout(600_000);

  it('a waiter that is not next asks again, and finds such znodes that were none at its first question', async () => {
    const dead = [awaitedLater(mutex(lab.other, lab.path))];
    await lab.sleep(100);
    dead.push(awaitedLater(mutex(lab.other, lab.path)));
    await lab.sleep(100);
    const { sessions } = client.host;
    const names = (await sessions.current.request(getChildren(lab.path))).value;
    const waiting = awaitedLater(mutex(client, lab.path));
    await lab.sleep((names.length * 10 + 3) * sessionTimeoutMs);
    for (const name of names) {
      await sessions.current.request(getData(`${lab.path}/${name}`, false));
      showPhantom(ill, `${lab.path}/${name}`);
    }
    await lab.other.close();
    let hold: Pick<Hold, 'release'> | undefined;
    void waiting.then((granted) => (hold = granted));
    await lab.sleep((names.length * 10 + 3) * sessionTimeoutMs);
    expect(hold).to.not.equal(undefined);
    await hold?.release();
    await Promise.allSettled(dead);
  }).timeout(600_000);

  for (const [kind, acquireIt, takes] of [
    ['mutex', mutex, [mutex, mutex]],
    ['reader', reader, [writer, writer, reader]],
  ] as const)
    it(`${kind}: a waiter that is not next and has left asks no more`, async () => {
      const queued: Promise<Pick<Hold, 'path' | 'release'>>[] = [];
      for (const take of takes) {
        queued.push(awaitedLater(take(lab.other, lab.path)));
        await lab.sleep(100);
      }
      const limit = new AbortController();
      const leaving = rejection(acquireIt(client, lab.path, limit.signal));
      await lab.sleep(100);
      limit.abort();
      await leaving;
      const asked = (): number => ill.frames.filter(sent('multi')).length;
      // Its session stays active for one timeout.
      await lab.sleep(2 * sessionTimeoutMs);
      const before = asked();
      await lab.sleep((takes.length * 10 + 2) * sessionTimeoutMs);
      expect(asked()).to.equal(before);
      for (const each of queued) await (await each).release();
    }).timeout(600_000);

  it('no waiter is left: the other znodes of the question are not asked for one by one', async () => {
    const paths = Array.from({ length: 5 }, (_, index) => `${lab.path}/${index}`);
    const held = await Promise.all(paths.map((path) => mutex(lab.other, path)));
    const limit = new AbortController();
    const leaving = paths.map((path) => rejection(mutex(client, path, limit.signal)));
    await Promise.all(held.map(({ path }) => readsHeld(path)));
    const isOfHeld = ({ op, path }: Frame): boolean => op === 'multi' && held.some((each) => each.path === path);
    const asked = ill.seen((frame) => frame.from === 'server' && isOfHeld(frame));
    for (const { path } of held) once(ill, (frame) => frame.op === 'watch' && frame.path === path, 'drop');
    await Promise.all(held.map((each) => each.release()));
    await asked;
    limit.abort();
    await Promise.all(leaving);
    await lab.sleep(sessionTimeoutMs);
    expect(ill.frames.filter((frame) => frame.from === 'client' && isOfHeld(frame))).to.have.length(1);
  });

  it('without another server, the waiter tells it once, and stays', async () => {
    await well.admit('refused');
    const held = await mutex(lab.other, lab.path);
    const waiting = awaitedLater(mutex(client, lab.path));
    await readsHeld(held.path);
    const states = statesOf(client);
    showPhantom(ill, held.path);
    await held.release();
    await lab.sleep(4 * sessionTimeoutMs);
    expect(states).to.deep.equal([]);
    expect(warnings).to.have.length(1);
    await well.admit('served');
    await (await waiting).release();
  });

  for (const verb of ['revoke', 'release'])
    it(`zklock ${verb} says that there is nothing to release`, async () => {
      const held = await mutex(lab.other, lab.path);
      const waiting = awaitedLater(mutex(client, lab.path));
      await readsHeld(held.path);
      showPhantom(ill, held.path);
      await held.release();
      const run = new InProcess(ill.connectString, [verb, lab.path]);
      expect(await run.ended).to.equal(70);
      expect(run.out).to.equal('');
      expect(run.errors).to.match(/^nothing to release: 127\.0\.0\.1:\d+ shows .*, which the quorum does not have/);
      await (await waiting).release();
    });

  it('many waiters for one znode ask once, and tell it once', async () => {
    const { writeLock } = new InterProcessReadWriteLock(lab.other, lab.path);
    const writing = await writeLock.acquire();
    const { readLock } = new InterProcessReadWriteLock(client, lab.path);
    const readers = 50;
    const waiting = awaitedLater(Promise.all(Array.from({ length: readers }, () => readLock.acquire())));
    await readsHeld(writing.path);
    await well.admit('refused');
    showPhantom(ill, writing.path);
    await writing.release();
    await lab.sleep(2.5 * sessionTimeoutMs);
    expect(ill.frames.filter((frame) => sent('multi')(frame) && frame.path === writing.path)).to.have.length(2);
    expect(warnings).to.have.length(1);
    await well.admit('served');
    for (const reading of await waiting) await reading.release();
  });

  it('a connection that ends while the other server is looked up is followed by another one', async () => {
    using resolver = new Resolver();
    resolver.set('ill.test', ['127.0.0.1']).set('well.test', ['127.0.0.1']);
    await well.admit('refused');
    client = await lab.connect({ sessionTimeoutMs }, `ill.test:${ill.port},well.test:${well.port}`);
    await well.admit('served');
    const held = await mutex(lab.other, lab.path);
    const waiting = awaitedLater(mutex(client, lab.path));
    await readsHeld(held.path);
    const asked = ill.seen((frame) => frame.from === 'server' && frame.op === 'multi' && frame.path === held.path);
    resolver.set('ill.test', 'hangs').set('well.test', 'hangs');
    showPhantom(ill, held.path);
    await held.release();
    await asked;
    await lab.sleep(100);
    ill.cut();
    resolver.set('ill.test', ['127.0.0.1']).set('well.test', ['127.0.0.1']);
    await lab.sleep(3 * sessionTimeoutMs);
    expect(client.state).to.not.equal('lost');
    await (await waiting).release();
  });

  it('a client that went to another server, and came back, attaches anew where it is', async () => {
    const held = await mutex(lab.other, lab.path);
    const waiting = awaitedLater(mutex(client, lab.path));
    await readsHeld(held.path);
    showPhantom(ill, held.path);
    await held.release();
    await (await waiting).release();
    await well.admit('refused');
    well.cut();
    await until(
      'the client is back',
      () => client.health().server === ill.connectString && client.state !== 'suspended',
    );
    await until('the session is stale', () => client.session.isStale);
    const { dials } = well;
    await (await mutex(client, `${lab.path}-next`)).release();
    expect([well.dials - dials, client.health().server]).to.deep.equal([0, ill.connectString]);
  });

  it('a lost event is noticed, too', async () => {
    const held = await mutex(lab.other, lab.path);
    const waiting = awaitedLater(mutex(client, lab.path));
    await readsHeld(held.path);
    once(ill, (frame) => frame.op === 'watch' && frame.path === held.path, 'drop');
    await held.release();
    const releasedAt = lab.now();
    await (await waiting).release();
    expect(lab.now() - releasedAt).to.be.below(1.1 * sessionTimeoutMs);
    expect(warnings).to.deep.equal([]);
  });

  it('an ordinary wait asks nothing, and a long one asks once in a session timeout', async () => {
    const held = await mutex(lab.other, lab.path);
    const waiting = awaitedLater(mutex(client, lab.path));
    await readsHeld(held.path);
    const asked = (): number => ill.frames.filter((frame) => sent('multi')(frame) && frame.path === held.path).length;
    await lab.sleep(0.9 * sessionTimeoutMs);
    expect(asked()).to.equal(0);
    await lab.sleep(3 * sessionTimeoutMs);
    expect(asked()).to.equal(3);
    await held.release();
    await (await waiting).release();
    await lab.sleep(2 * sessionTimeoutMs);
    expect(asked()).to.equal(3);
  });
});
