import { expect } from 'chai';
import { InterProcessMutex, type ConnectionState, type LockClient } from '../../../src/index.ts';
import { closeSession, exists } from '../../../src/zookeeper/operations.ts';
import { ConnectionProbe } from '../../../harness/connection-probe.ts';
import { answered, once, sent } from '../../../harness/frame-matches.ts';
import { labOfEachTest } from '../../../harness/lab.ts';
import { connectInOrder } from '../../../harness/lock-clients.ts';
import { testPath } from '../../../harness/test-path.ts';
import { rejection, until } from '../../../harness/until.ts';
import type { Frame } from '../../../harness/zk-proxy.ts';

const sessionTimeoutMs = 2_000;

describe('a session that was quiet attaches anew', () => {
  const lab = labOfEachTest('attach', { server: 'own', proxy: true, client: { sessionTimeoutMs } });
  let states: ConnectionState[];

  const createParents = async (path: string): Promise<void> => {
    await (await new InterProcessMutex(lab.other, path).acquire()).release();
  };
  /** Waits until the session needs a new proof. */
  const becomeStale = async (client: LockClient): Promise<void> => {
    await until('the session is stale', () => client.session.isStale);
    lab.proxy.clear();
  };
  const clientFrames = (): Frame['op'][] =>
    lab.proxy.frames.filter(({ from }) => from === 'client').map(({ op }) => op);
  const connects = (): number => lab.proxy.frames.filter(sent('connect')).length;

  beforeEach(async () => {
    states = [];
    lab.client.on('state', (state) => states.push(state));
    await createParents(lab.path);
    await becomeStale(lab.client);
  });

  it('before a create, and sends the proof, the create and the list in one flush behind it', async () => {
    const hold = await lab.mutex.acquire();
    expect(clientFrames().slice(0, 4)).to.deep.equal(['connect', 'multi', 'create2', 'getChildren2']);
    const isAnswer = ({ from, op }: Frame): boolean => from === 'server' && op !== 'connect';
    const firstAnswer = lab.proxy.frames.findIndex(isAnswer);
    expect(lab.proxy.frames.slice(0, firstAnswer).filter(({ from }) => from === 'client')).to.have.length(4);
    expect(hold.isValid).to.equal(true);
    expect(hold.remainingMs).to.be.above(sessionTimeoutMs / 2);
    expect(states).to.deep.equal([]);
    await hold.release();
  });

  it('once, for all acquires and tries that come meanwhile, and sends their requests in call order', async () => {
    const paths = Array.from({ length: 5 }, (_, index) => `${testPath('several')}${index}`);
    await Promise.all(paths.map(createParents));
    const holds = await Promise.all(
      paths.map((path, index) => {
        const mutex = new InterProcessMutex(lab.client, path);
        return index === 3 ? mutex.tryAcquire() : mutex.acquire();
      }),
    );
    expect(connects()).to.equal(1);
    expect(states).to.deep.equal([]);
    const created = lab.proxy.frames.filter(sent('create2')).map(({ path }) => path?.slice(0, path.lastIndexOf('/')));
    expect(created.slice(0, 4)).to.deep.equal([0, 1, 2, 4].map((index) => paths[index]));
    for (const hold of holds) expect(hold?.isValid).to.equal(true);
    await Promise.all(holds.map((hold) => hold?.release()));
  });

  it('for a try only if the lock is free', async () => {
    const held = await lab.theirs.acquire();
    expect(await lab.mutex.tryAcquire()).to.equal(undefined);
    expect(clientFrames()).to.deep.equal(['sync', 'getChildren2']);
    await held.release();
    await using hold = await lab.mutex.tryAcquire();
    expect(hold?.isValid).to.equal(true);
    expect(clientFrames().slice(2, 6)).to.deep.equal(['sync', 'getChildren2', 'connect', 'multi']);
  });

  it('after the requests in flight are answered', async () => {
    once(lab.proxy, answered('exists'), 'hold');
    const asked = lab.client.session.request(exists('/'));
    await lab.proxy.seen(answered('exists'));
    const acquiring = lab.mutex.acquire();
    await new Promise((resolve) => setImmediate(resolve));
    expect(connects()).to.equal(0);
    lab.proxy.speak();
    expect((await asked).value).to.have.property('version');
    await (await acquiring).release();
    expect(connects()).to.equal(1);
    expect(states).to.deep.equal([]);
  });

  it('without an answer to the requests in flight after a quarter of the timeout', async () => {
    once(lab.proxy, answered('exists'), 'drop');
    const asked = rejection(lab.client.session.request(exists('/')));
    const startedAt = performance.now();
    const hold = await lab.mutex.acquire();
    expect(performance.now() - startedAt).to.be.at.least(sessionTimeoutMs / 4 - 1);
    expect(await asked).to.have.property('code', 'CONNECTION_LOSS');
    expect(states).to.deep.equal([]);
    await hold.release();
  });

  it('to another server if the present one does not answer in time', async () => {
    const client = await connectInOrder([lab.proxy, lab.server], { sessionTimeoutMs });
    const { id } = client.session;
    await becomeStale(client);
    const seen: ConnectionState[] = [];
    client.on('state', (state) => seen.push(state));
    lab.proxy.on((frame) => (answered('connect')(frame) ? 'drop' : undefined));
    const hold = await new InterProcessMutex(client, lab.path).acquire();
    expect(hold.isValid).to.equal(true);
    expect(seen).to.deep.equal(['suspended', 'reconnected']);
    expect(client.session.id).to.equal(id);
    await hold.release();
    await client.close();
  });

  it('and finds that it has expired: the acquire goes on in the next session', async () => {
    const { id, identity } = lab.client.session;
    // The client does not hear that the server closes its connection.
    lab.proxy.silence();
    using twin = await ConnectionProbe.connect([lab.server.port], { resume: identity, sessionTimeoutMs });
    await twin.send(closeSession());
    const acquiring = lab.mutex.acquire();
    await lab.proxy.seen(sent('connect'));
    lab.proxy.speak();
    const hold = await acquiring;
    expect(lab.client.session.id).to.not.equal(id);
    expect(states).to.deep.equal(['lost', 'reconnected']);
    expect(hold.isValid).to.equal(true);
    expect(await lab.observer.children(lab.path)).to.have.length(1);
    await hold.release();
  });

  it('and sends its proof also if the caller has given up, and leaves no znode', async () => {
    once(lab.proxy, sent('connect'), 'hold');
    const stop = new AbortController();
    const acquiring = rejection(lab.mutex.acquire({ signal: stop.signal }));
    await lab.proxy.seen(sent('connect'));
    stop.abort(new Error('enough'));
    expect(await acquiring).to.have.property('message', 'enough');
    lab.proxy.speak();
    await lab.proxy.seen(answered('multi'));
    await lab.proxy.seen(answered('sync'));
    await until('no znode is left', async () => (await lab.observer.children(lab.path)).length === 0);
    expect(states).to.deep.equal([]);
  });

  it('and is closed by close() meanwhile', async () => {
    once(lab.proxy, sent('connect'), 'hold');
    const acquiring = rejection(lab.mutex.acquire());
    await lab.proxy.seen(sent('connect'));
    const closing = lab.client.close({ timeoutMs: 20_000 });
    expect(await acquiring).to.have.property('code', 'ERR_LOCK_CLIENT_CLOSED');
    lab.proxy.speak();
    await closing;
    expect(lab.proxy.frames.filter(sent('closeSession'))).to.have.length(1);
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  for (const [index, list] of [
    [2, []],
    [3, ['getChildren2']],
  ] as const) {
    it(`when its waiter at index ${index} moves up, with a proof that its znode exists, its watch${list.length > 0 ? ' and the list' : ''} in one flush`, async () => {
      const [holder, ...others] = await Promise.all(
        Array.from({ length: index }, () => lab.connect({ sessionTimeoutMs: 30_000 }, lab.connectString)),
      );
      if (!holder) throw new Error('no rivals');
      const held = await new InterProcessMutex(holder, lab.path).acquire();
      const stop = new AbortController();
      const waits: Promise<unknown>[] = [];
      for (const other of others) {
        const count = waits.length + 2;
        const signal = other === others.at(-1) ? stop.signal : undefined;
        waits.push(new InterProcessMutex(other, lab.path).acquire({ signal }).then((hold) => hold.release(), ignore));
        await until('another is queued', async () => (await lab.observer.children(lab.path)).length === count);
      }
      const acquiring = lab.mutex.acquire();
      await until('all are queued', async () => (await lab.observer.children(lab.path)).length === index + 1);
      const own = (await lab.mutex.participants())[index]?.path;
      await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === own);
      await becomeStale(lab.client);
      stop.abort();
      await lab.proxy.seen(answered(list.length > 0 ? 'getChildren2' : 'getData'));
      const sentFrames = lab.proxy.frames.filter(({ from, op }) => from === 'client' && op !== 'sync');
      const expected = ['connect', 'setWatches', 'multi', 'getData', ...list];
      expect(sentFrames.slice(0, expected.length).map(({ op }) => op)).to.deep.equal(expected);
      expect(sentFrames.slice(2, 4).map(({ path }) => path)).to.deep.equal([own, own]);
      await held.release();
      await (await acquiring).release();
      await Promise.all(waits);
      expect(states).to.deep.equal([]);
    });
  }
});

function ignore(): void {
  // The waiter has given up.
}
