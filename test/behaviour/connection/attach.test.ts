import { expect } from 'chai';
import { InterProcessMutex, type ConnectionState, type LockClient } from '../../../src/index.ts';
import { closeSession, exists, setData, sync } from '../../../src/zookeeper/wire/operations.ts';
import { ConnectionProbe } from '../../../lab/wire/connection-probe.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { connectInOrder } from '../../../lab/lock-clients.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection, until } from '../../../lab/until.ts';
import { startProxy, type Frame, type ZkProxy } from '../../../lab/proxy/zk-proxy.ts';

const sessionTimeoutMs = 12_000;
/** Not executed, please try again. */
const throttled = -127;

/** Clients that no test has used yet. Their sessions become stale together, because that takes several seconds. */
const mostTests = 21;

describe('a session that was quiet attaches anew', () => {
  const lab = labOfEachTest('attach', { server: { containerCheckMs: 3_600_000 }, client: 'none' });
  const fresh: { readonly proxy: ZkProxy; readonly client: LockClient }[] = [];
  let proxy: ZkProxy;
  let client: LockClient;
  let other: LockClient;
  let mutex: InterProcessMutex;
  let states: ConnectionState[];

  /** Creates the parents, so that an acquire needs no request for them. */
  const createParents = async (path: string): Promise<void> => {
    await (await new InterProcessMutex(other, path).acquire()).release();
  };
  /** Waits until the session needs a new proof. */
  const becomeStale = async (quiet: LockClient): Promise<void> => {
    await until('the session is stale', () => quiet.session.isStale);
    proxy.clear();
  };
  const clientFrames = (): Frame['op'][] =>
    proxy.frames.filter(({ from, op }) => from === 'client' && op !== 'ping').map(({ op }) => op);
  const connects = (): number => proxy.frames.filter(sent('connect')).length;

  before(async () => {
    for (let left = mostTests; left > 0; left -= 1) {
      const ownProxy = await startProxy(lab.server.port);
      fresh.push({ proxy: ownProxy, client: await connectInOrder([ownProxy, lab.server], { sessionTimeoutMs }) });
    }
  });
  beforeEach(async () => {
    const next = fresh.pop();
    if (!next) throw new Error('there are more tests than clients: set mostTests');
    ({ proxy, client } = next);
    other = await lab.connect({ sessionTimeoutMs: 30_000 });
    mutex = new InterProcessMutex(client, lab.path);
    states = [];
    client.on('state', (state) => states.push(state));
    await createParents(lab.path);
    await becomeStale(client);
  });
  afterEach(async () => {
    proxy.speak();
    await client.close();
    await proxy.close();
  });
  after(async () => {
    for (const { proxy: unused, client: idle } of fresh) {
      await idle.close();
      await unused.close();
    }
  });

  it('beside the present connection, which sends the create and the list meanwhile', async () => {
    await using hold = await mutex.acquire();
    expect(clientFrames().slice(0, 5)).to.deep.equal(['create2', 'getChildren2', 'connect', 'setWatches', 'multi']);
    expect(hold.isValid).to.equal(true);
    expect(hold.remainingMs).to.be.above(sessionTimeoutMs / 2);
    expect(states).to.deep.equal([]);
  });

  it('which costs the first acquire two round trips more than the next one', async () => {
    const first = await mutex.acquire();
    // The new TCP connection is made while the create and the list are answered.
    const firstTrips = roundTrips(proxy.frames, answered('multi'));
    await first.release();
    proxy.clear();
    await using _second = await mutex.acquire();
    expect([firstTrips, roundTrips(proxy.frames, answered('getChildren2'))]).to.deep.equal([3, 1]);
  });

  it('once, for all acquires and tries that come meanwhile, and sends their requests in call order', async () => {
    const paths = Array.from({ length: 5 }, (_, index) => `${testPath('several')}${index}`);
    await Promise.all(paths.map(createParents));
    const holds = await Promise.all(
      paths.map((path, index) => {
        const mutex = new InterProcessMutex(client, path);
        return index === 3 ? mutex.tryAcquire() : mutex.acquire();
      }),
    );
    expect(connects()).to.equal(1);
    expect(states).to.deep.equal([]);
    const created = proxy.frames.filter(sent('create2')).map(({ path }) => path?.slice(0, path.lastIndexOf('/')));
    expect(created.slice(0, 4)).to.deep.equal([0, 1, 2, 4].map((index) => paths[index]));
    for (const hold of holds) expect(hold?.isValid).to.equal(true);
    for (const hold of holds) await hold?.release();
  });

  it('for a try only if the lock is free', async () => {
    const held = await new InterProcessMutex(other, lab.path).acquire();
    expect(await mutex.tryAcquire()).to.equal(undefined);
    expect(clientFrames()).to.deep.equal(['sync', 'getChildren2']);
    await held.release();
    await using hold = await mutex.tryAcquire();
    expect(hold?.isValid).to.equal(true);
    const found = ['sync', 'getChildren2'];
    expect(clientFrames().slice(2)).to.deep.equal([
      ...found,
      'create2',
      'getChildren2',
      'connect',
      'setWatches',
      'multi',
      'getData',
    ]);
  });

  it('and sends the requests that are made meanwhile behind its proof', async () => {
    once(proxy, sent('connect'), 'hold');
    const acquiring = mutex.acquire();
    await proxy.seen(sent('connect'));
    const asked = client.session.request(exists('/'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(proxy.frames.filter(sent('exists'))).to.deep.equal([]);
    proxy.speak();
    await asked;
    expect(clientFrames().filter((op) => ['connect', 'multi', 'exists'].includes(op))).to.deep.equal([
      'connect',
      'multi',
      'exists',
    ]);
    await (await acquiring).release();
    expect(states).to.deep.equal([]);
  });

  it('and sends the requests that are made meanwhile on the present connection, if the new one fails', async () => {
    once(proxy, answered('setData'), 'hold');
    const before = client.session.request(setData(lab.path, Buffer.alloc(0)));
    await proxy.seen(answered('setData'));
    const acquiring = mutex.acquire();
    // Until the new link is made.
    await lab.sleep(10);
    const asked = ['/', '/zookeeper'].map((path) => client.session.request(exists(path)));
    once(proxy, sent('connect'), 'cut');
    proxy.speak();
    await Promise.all([before, ...asked]);
    expect(connects()).to.equal(1);
    const sentMeanwhile = proxy.frames.filter(sent('exists'));
    expect(new Set(sentMeanwhile.map(({ connection }) => connection)).size).to.equal(1);
    expect(sentMeanwhile.map(({ path }) => path)).to.deep.equal(['/', '/zookeeper']);
    await (await acquiring).release();
    expect(states).to.deep.equal([]);
  });

  it('and asks on the new connection what was not answered on the old one, if that changes nothing', async () => {
    once(proxy, answered('exists'), { delayUntil: proxy.seen(sent('setWatches')) });
    const asked = client.session.request(exists('/'));
    await (await mutex.acquire()).release();
    expect((await asked).value).to.have.property('czxid', 0n);
    const reads = proxy.frames.filter((frame) => sent('exists')(frame) && frame.path === '/');
    expect(reads.map(({ connection }) => connection)).to.have.members([1, 2]);
    expect(states).to.deep.equal([]);
  });

  it('after the writes in flight are answered', async () => {
    once(proxy, answered('setData'), 'hold');
    const asked = client.session.request(setData(lab.path, Buffer.alloc(0)));
    await proxy.seen(answered('setData'));
    const acquiring = mutex.acquire();
    // Until the new link is made.
    await lab.sleep(10);
    expect(connects()).to.equal(0);
    proxy.speak();
    expect((await asked).value).to.have.property('version');
    await (await acquiring).release();
    expect(connects()).to.equal(1);
    expect(states).to.deep.equal([]);
  });

  it('and sends on the new connection what the server has put off at the end', async () => {
    const events: string[] = [];
    client.on('background', ({ type }) => events.push(type));
    once(proxy, answered('setData'), 'hold');
    once(proxy, sent('create2'), { refuse: throttled });
    const asked = client.session.request(setData(lab.path, Buffer.alloc(0)));
    await proxy.seen(answered('setData'));
    const acquiring = mutex.acquire();
    await lab.sleep(20);
    expect(connects()).to.equal(0);
    proxy.speak();
    await asked;
    await (await acquiring).release();
    expect(proxy.frames.filter(sent('create2')).map(({ connection }) => connection)).to.deep.equal([1, 2]);
    expect(events).to.not.include('create-searched');
    expect(states).to.deep.equal([]);
  });

  it('and asks behind a sync on the new connection what was asked behind it, also if the server had put the sync off', async () => {
    once(proxy, sent('sync'), { refuse: throttled });
    once(proxy, answered('exists'), { delayUntil: proxy.seen(sent('setWatches')) });
    const asked = [client.session.request(sync(lab.path)), client.session.request(exists(lab.path))];
    await proxy.seen(answered('exists'));
    await Promise.all([client.session.attach(), ...asked]);
    const isAsked = (frame: Frame): boolean => sent('exists')(frame) || sent('sync')(frame);
    const again = proxy.frames.filter((frame) => isAsked(frame) && frame.connection === 2 && frame.path === lab.path);
    expect(again.map(({ op }) => op)).to.deep.equal(['sync', 'exists']);
    expect(states).to.deep.equal([]);
  });

  it('and takes no answer on the old connection for a read that was asked behind a sync that the server had put off', async () => {
    once(proxy, sent('sync'), { refuse: throttled });
    once(proxy, answered('exists'), { delayUntil: proxy.seen(sent('connect')) });
    once(proxy, sent('connect'), 'hold');
    const told: string[] = [];
    const asked = [sync(lab.path), exists(lab.path)].map(async (operation) => {
      await client.session.request<unknown>(operation);
      told.push(operation.name);
    });
    await proxy.seen(answered('sync'));
    const attached = client.session.attach();
    await proxy.seen(answered('exists'));
    // Until the answer has arrived.
    await lab.sleep(10);
    proxy.speak();
    await Promise.all([attached, ...asked]);
    expect(told).to.deep.equal(['sync', 'exists']);
    expect(states).to.deep.equal([]);
  });

  it('without an answer to the writes in flight after a quarter of the timeout', async () => {
    once(proxy, answered('setData'), { delayUntil: proxy.seen(sent('setWatches')) });
    const asked = rejection(client.session.request(setData(lab.path, Buffer.alloc(0))));
    const startedAt = lab.now();
    await using _hold = await mutex.acquire();
    expect(lab.now() - startedAt).to.be.closeTo(sessionTimeoutMs / 4, 50);
    expect(await asked).to.have.property('code', 'CONNECTION_LOSS');
    expect(states).to.deep.equal([]);
  });

  it('to another server if the present one does not answer in time, and what was asked meanwhile fails', async () => {
    const { id } = client.session;
    proxy.on((frame) => (answered('connect')(frame) ? 'drop' : undefined));
    const acquiring = mutex.acquire({ timeoutMs: 10_000 });
    await proxy.seen(sent('connect'));
    const asked = rejection(client.session.request(exists('/')));
    await using hold = await acquiring;
    expect(hold.isValid).to.equal(true);
    expect(await asked).to.have.property('code', 'CONNECTION_LOSS');
    expect(states).to.deep.equal(['suspended', 'reconnected']);
    expect(client.session.id).to.equal(id);
  });

  it('and finds that it has expired: the acquire goes on in the next session', async () => {
    const { id, connection } = client.session;
    const { identity } = connection;
    // The client does not hear that the server closes its connection.
    proxy.silence();
    using twin = await ConnectionProbe.connect([lab.server.port], { resume: identity, sessionTimeoutMs });
    await twin.send(closeSession());
    const acquiring = mutex.acquire();
    await proxy.seen(sent('connect'));
    proxy.speak();
    await using hold = await acquiring;
    expect(client.session.id).to.not.equal(id);
    expect(states).to.deep.equal(['lost', 'reconnected']);
    expect(hold.isValid).to.equal(true);
    expect(await lab.observer.children(lab.path)).to.have.length(1);
  });

  it('and sends its proof also if the caller has given up, and leaves no znode', async () => {
    once(proxy, sent('connect'), 'hold');
    const stop = new AbortController();
    const acquiring = rejection(mutex.acquire({ signal: stop.signal }));
    await proxy.seen(sent('connect'));
    stop.abort(new Error('enough'));
    expect(await acquiring).to.have.property('message', 'enough');
    proxy.speak();
    await proxy.seen(answered('multi'));
    await proxy.seen(answered('sync'));
    await lab.queueReaches(0);
    expect(states).to.deep.equal([]);
  });

  it('and is closed by close() meanwhile', async () => {
    once(proxy, sent('connect'), 'hold');
    const acquiring = rejection(mutex.acquire());
    await proxy.seen(sent('connect'));
    const closing = client.close({ timeoutMs: 20_000 });
    expect(await acquiring).to.have.property('code', 'ERR_LOCK_CLIENT_CLOSED');
    proxy.speak();
    await closing;
    expect(proxy.frames.filter(sent('closeSession'))).to.have.length(1);
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('and is closed by close() at once while it waits for an answer on the present connection', async () => {
    once(proxy, answered('create2'), 'hold');
    const acquiring = rejection(mutex.acquire());
    await proxy.seen(answered('create2'));
    await lab.sleep(10);
    const closeSent = proxy.seen(sent('closeSession'));
    const startedAt = lab.now();
    const closing = client.close({ timeoutMs: 20_000 });
    await closeSent;
    expect(lab.now() - startedAt).to.be.below(10);
    proxy.speak();
    await Promise.all([closing, acquiring]);
    expect(proxy.frames.filter(sent('connect'))).to.have.length(0);
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('and is closed by close() also before the sync behind its proof is answered', async () => {
    const closeSent = proxy.seen(sent('closeSession'));
    closeSent.catch(() => undefined);
    once(proxy, answered('sync'), { delayUntil: closeSent });
    await mutex.acquire();
    const startedAt = lab.now();
    await client.close({ timeoutMs: 20_000 });
    expect(lab.now() - startedAt).to.be.below(10);
    expect(proxy.frames.filter(answered('closeSession'))).to.have.length(1);
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('when its waiter with a weight becomes next, before the lock is released', async () => {
    const weights = { overtakesPerWeight: 10 };
    const path = testPath('weighted');
    const first = await new InterProcessMutex(other, path, { weights }).acquire({ weight: 5 });
    const heavier = await lab.connect({ sessionTimeoutMs: 30_000 });
    const second = new InterProcessMutex(heavier, path, { weights }).acquire({ weight: 9 });
    await lab.queueReaches(2, path);
    const third = new InterProcessMutex(client, path, { weights }).acquire({ weight: 1 });
    await lab.queueReaches(3, path);
    await proxy.seen(answered('multi'));
    await becomeStale(client);
    await first.release();
    const held = await second;
    await proxy.seen(answered('connect'));
    await proxy.seen(answered('multi'));
    expect(client.session.needsProof()).to.equal(false);
    await held.release();
    await (await third).release();
    expect(states).to.deep.equal([]);
  });

  for (const [index, list] of [
    [2, []],
    [3, ['getChildren2']],
  ] as const)
    it(`when its waiter at index ${index} moves up, with a proof that its znode exists, its watch${list.length > 0 ? ' and the list' : ''}`, async () => {
      const [holder, ...others] = await Promise.all(
        Array.from({ length: index }, () => lab.connect({ sessionTimeoutMs: 30_000 })),
      );
      if (!holder) throw new Error('no rivals');
      const held = await new InterProcessMutex(holder, lab.path).acquire();
      const stop = new AbortController();
      const waits: Promise<unknown>[] = [];
      for (const other of others) {
        const count = waits.length + 2;
        const signal = other === others.at(-1) ? stop.signal : undefined;
        waits.push(new InterProcessMutex(other, lab.path).acquire({ signal }).then((hold) => hold.release(), ignore));
        await lab.queueReaches(count);
      }
      const acquiring = mutex.acquire();
      await lab.queueReaches(index + 1);
      const own = (await mutex.participants())[index]?.path;
      await proxy.seen((frame) => answered('getData')(frame) && frame.path === own);
      await becomeStale(client);
      stop.abort();
      await Promise.all(['multi', 'getData', ...list].map((op) => proxy.seen(answered(op as Frame['op']))));
      const sentFrames = proxy.frames.filter(({ from, op }) => from === 'client' && op !== 'sync' && op !== 'ping');
      const expected = ['connect', 'setWatches', 'multi', 'getData', ...list];
      expect(sentFrames.slice(0, expected.length + 1).map(({ op }) => op)).to.include.members(expected);
      const newest = Math.max(...sentFrames.map(({ connection }) => connection));
      const asked = sentFrames.filter(({ connection, path }) => connection === newest && path === own);
      expect(asked.map(({ op }) => op)).to.have.members(['multi', 'getData']);
      await held.release();
      await (await acquiring).release();
      await Promise.all(waits);
      expect(states).to.deep.equal([]);
    });
});

/**
 * The number of round trips until the answer that grants the lock: the longest chain of requests, each of which was
 * sent after the answer to the one before it.
 */
function roundTrips(frames: readonly Frame[], grants: (frame: Frame) => boolean): number {
  let answeredTrips = 0;
  const tripOf = new Map<string, number>();
  for (const frame of frames.slice(0, frames.findIndex(grants) + 1)) {
    const key = `${frame.connection} ${frame.xid}`;
    if (frame.from === 'client') tripOf.set(key, answeredTrips + 1);
    else answeredTrips = Math.max(answeredTrips, tripOf.get(key) ?? 0);
  }
  return answeredTrips;
}

function ignore(): void {
  // The waiter has given up.
}
