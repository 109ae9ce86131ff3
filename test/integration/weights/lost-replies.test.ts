import { expect } from 'chai';
import { InterProcessMutex, LockClient, PriorityDriver } from '../../../src/index.ts';
import { stranger, type Stranger } from '../../support/stranger.ts';
import { testPath } from '../../support/test-path.ts';
import { rejection, until } from '../../support/until.ts';
import { startProxy, type Frame, type FrameAction, type ZkProxy } from '../../support/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../support/zookeeper-server.ts';

const driver = new PriorityDriver();

describe('a mutex with weights whose connection breaks', () => {
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let client: LockClient;
  let other: LockClient;
  let outside: Stranger;
  let path: string;

  before(async () => {
    server = await startServer();
    outside = await stranger(server.connectString);
  });

  beforeEach(async () => {
    proxy = await startProxy(server.port);
    [client, other] = await Promise.all([LockClient.connect(proxy.connectString, { sessionTimeoutMs: 4_000 }), LockClient.connect(server.connectString)]);
    path = testPath('weights-wire');
    await (await new InterProcessMutex(client, path, { driver }).acquire()).release();
  });

  afterEach(async () => {
    await Promise.all([client.close(), other.close()]);
    await proxy.close();
  });

  after(async () => {
    await outside[Symbol.asyncDispose]();
    await server.stop();
  });

  /** A transaction that claims the lock names the own znode first. */
  const isClaim = (side: Frame['from']) => (frame: Frame): boolean => frame.from === side && frame.op === 'multi' && (frame.path ?? '').startsWith(`${path}/`);

  const once = (match: (frame: Frame) => boolean, action: FrameAction): void => {
    let isDone = false;
    proxy.on((frame) => {
      if (isDone || !match(frame)) return undefined;
      isDone = true;
      return action;
    });
  };

  for (const action of ['cut', 'cut-inside'] as const) {
    it(`a claim whose answer is lost (${action}) is found again, and holds with the token of its transaction`, async () => {
      const before = await new InterProcessMutex(other, path, { driver }).acquire();
      await before.release();
      proxy.clear();
      once(isClaim('server'), action);
      const hold = await new InterProcessMutex(client, path, { driver }).acquire({ weight: 4 });
      expect(proxy.frames.filter(({ from, op }) => from === 'client' && op === 'create2'), 'creates').to.have.length(1);
      expect(hold.isValid).to.equal(true);
      expect(hold.fencingToken > before.fencingToken).to.equal(true);
      expect(await outside.read(path)).to.contain(hold.path.slice(path.length + 1));
      // Nobody else could have claimed it since.
      expect(await new InterProcessMutex(other, path, { driver }).tryAcquire({ weight: 10 })).to.equal(undefined);
      await hold.release();
      const after = await new InterProcessMutex(other, path, { driver }).acquire();
      expect(after.fencingToken > hold.fencingToken).to.equal(true);
      await after.release();
    });
  }

  it('a claim that never arrived is made again', async () => {
    once(isClaim('client'), 'cut');
    const hold = await new InterProcessMutex(client, path, { driver }).acquire();
    expect(hold.isValid).to.equal(true);
    await hold.release();
    expect(await outside.children(path)).to.deep.equal([]);
  });

  it('after a claim without an answer it looks behind a quorum write', async () => {
    once(isClaim('server'), 'cut');
    proxy.clear();
    const hold = await new InterProcessMutex(client, path, { driver }).acquire();
    const sent = proxy.frames.filter(({ from, connection, op }) => from === 'client' && connection > 1 && op !== 'connect').map(({ op }) => op);
    // One is the heartbeat's, which every new connection begins with.
    expect(sent.slice(0, sent.indexOf('getData')).filter((op) => op === 'multi'), sent.join()).to.have.length(2);
    await hold.release();
  });

  it('a claim whose caller has given up meanwhile leaves nothing, and the lock to the next one', async () => {
    const controller = new AbortController();
    once(isClaim('server'), 'cut');
    const lost = proxy.seen(isClaim('server'));
    const acquiring = rejection(new InterProcessMutex(client, path, { driver }).acquire({ signal: controller.signal }));
    await lost;
    controller.abort(new Error('enough'));
    expect((await acquiring).message).to.equal('enough');
    const next = await new InterProcessMutex(other, path, { driver }).acquire();
    await next.release();
    await until('nobody is there', async () => (await outside.children(path)).length === 0);
  });

  it('a tryAcquire whose claim has no answer settles, and leaves nothing if it says no', async () => {
    once(isClaim('server'), 'cut');
    const hold = await new InterProcessMutex(client, path, { driver }).tryAcquire();
    await hold?.release();
    await until('nobody is there', async () => (await outside.children(path)).length === 0);
  });

  for (const op of ['getData', 'getChildren2', 'create2', 'watch'] as const) {
    it(`a waiter that loses an answer (${op}) is let in when its turn comes`, async () => {
      const hold = await new InterProcessMutex(other, path, { driver }).acquire({ weight: 5 });
      const mutex = new InterProcessMutex(client, path, { driver });
      proxy.clear();
      once((frame) => frame.from === 'server' && frame.op === op, 'cut');
      const waiting = [9, 3, 3, 1].map((weight) => mutex.acquire({ weight, timeoutMs: 15_000 }).then((held) => held.release()));
      await until('all wait', async () => (await outside.children(path)).length === 5);
      await hold.release();
      await Promise.all(waiting);
      expect(await outside.children(path)).to.deep.equal([]);
    });
  }

  it('what was claimed while a waiter had no connection wakes it all the same', async () => {
    const [theirs, ours] = [new InterProcessMutex(other, path, { driver }), new InterProcessMutex(client, path, { driver })];
    const first = await theirs.acquire({ weight: 5 });
    const second = theirs.acquire({ weight: 7 });
    await until('the second waits', async () => (await outside.children(path)).length === 2);
    const light = ours.acquire({ weight: 2, timeoutMs: 15_000 });
    await until('the light one watches the claim', () => client.session.watchedPaths('data').includes(path));
    await proxy.refuse();
    proxy.cut();
    await until('it is cut off', () => client.state === 'suspended');
    await first.release();
    await (await second).release();
    await proxy.accept();
    await (await light).release();
  });
});
