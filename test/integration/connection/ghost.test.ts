import { expect } from 'chai';
import { InterProcessMutex, LockClient, type BackgroundEvent, type Hold } from '../../../src/index.ts';
import { connectObserver } from '../../../harness/observer.ts';
import { testPath } from '../../../harness/test-path.ts';
import { aborted, until } from '../../../harness/until.ts';
import { startProxy, type Frame, type ZkProxy } from '../../../harness/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../../harness/zookeeper-server.ts';

const sessionTimeoutMs = 2_000;

/** What keeps dialling a session that was lost, to close it. */
describe('the ghost of a lost session', function () {
  this.timeout(60_000);
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let client: LockClient;
  let events: BackgroundEvent[];
  let lost: bigint;

  beforeEach(async () => {
    server = await startServer();
    proxy = await startProxy(server.port);
    client = await LockClient.connect(proxy.connectString, { sessionTimeoutMs });
    events = [];
    client.on('background', (event) => events.push(event));
  });
  afterEach(async () => {
    await client.close();
    await proxy.close();
    await server.stop();
  });

  const isConnect = (frame: Frame): boolean => frame.from === 'client' && frame.op === 'connect';
  const isGhost = (frame: Frame): boolean => isConnect(frame) && frame.body.readBigInt64BE(16) === lost;
  const ghosts = (): number => proxy.frames.filter(isGhost).length;
  const isClosed = (): boolean => events.some(({ type }) => type === 'lost-session-closed');

  const loseAHold = async (path = testPath('ghost')): Promise<Hold> => {
    lost = client.session.id;
    const hold = await new InterProcessMutex(client, path).acquire();
    const hear = proxy.on((frame) => (frame.from === 'server' ? 'drop' : undefined));
    await aborted(hold.signal);
    hear();
    await until('the next session is there', () => client.session.id !== lost && client.session.isConnected);
    proxy.clear();
    return hold;
  };

  it('asks wiped servers twice, which then say that it is over', async () => {
    const hold = await new InterProcessMutex(client, testPath('ghost')).acquire();
    lost = client.session.id;
    await server.kill();
    server.wipe();
    await server.start();
    await aborted(hold.signal);
    await until('the next session is there', () => client.session.id !== lost && client.session.isConnected);
    proxy.clear();
    await hold.release();
    await until('it is closed', isClosed);
    // A server with older data refuses its zxid in silence, and answers when it shows none.
    expect(proxy.frames.filter(isGhost).map(({ body }) => body.readBigInt64BE(4) === 0n)).to.deep.equal([false, true]);
  });

  it('is given up when the servers have refused it in silence for one and a half of its timeout, and nobody says that it is closed', async () => {
    const hold = await loseAHold();
    proxy.on((frame) => (isGhost(frame) ? 'cut' : undefined));
    await hold.release();
    await proxy.seen(isGhost, 2);
    const { connectedAt } = client.session;
    const releasedAt = performance.now();
    await until(
      'the servers have answered for two of its timeouts',
      () => client.session.heardAt >= releasedAt + 2 * sessionTimeoutMs,
    );
    const dialled = ghosts();
    expect(dialled).to.be.within(4, 12);
    await until('and for one more', () => client.session.heardAt >= releasedAt + 3 * sessionTimeoutMs);
    expect(ghosts()).to.equal(dialled);
    expect(client.session.connectedAt).to.equal(connectedAt);
    expect(isClosed()).to.equal(false);
    const startedAt = performance.now();
    await client.close();
    expect(performance.now() - startedAt).to.be.below(1_000);
    expect(ghosts()).to.equal(dialled);
  });

  it('is not dialled while the client itself has no connection', async () => {
    const hold = await loseAHold();
    proxy.on((frame) => (isConnect(frame) ? 'cut' : undefined));
    proxy.cut();
    await until('the connection is lost', () => client.state === 'suspended');
    await hold.release();
    await proxy.seen(isConnect, 4);
    expect(ghosts()).to.equal(0);
  });

  it('is closed by close() as soon as a server answers again, which takes its znode out of the queue', async () => {
    await using observer = await connectObserver(server.connectString);
    const path = testPath('ghost');
    const hold = await loseAHold(path);
    const whileDown = proxy.on((frame) => (isConnect(frame) ? 'cut' : undefined));
    proxy.cut();
    await until('the connection is lost', () => client.state === 'suspended');
    await hold.release();
    const closing = client.close({ timeoutMs: 15_000 });
    await proxy.seen(isGhost, 3);
    expect(await observer.children(path)).to.have.length(1);
    whileDown();
    await closing;
    expect(await observer.children(path)).to.have.length(0);
  });

  it('is closed at the servers by close(), also while its job runs', async () => {
    const hold = await loseAHold();
    await client.close();
    expect(ghosts()).to.equal(1);
    expect(proxy.frames.some((frame) => frame.from === 'server' && frame.op === 'closeSession')).to.equal(true);
    await hold.release();
  });

  it('keeps close() waiting for its timeout at most, while a server takes the connection and says nothing', async () => {
    const hold = await loseAHold();
    proxy.on((frame) => (isGhost(frame) ? 'drop' : undefined));
    const startedAt = performance.now();
    await client.close({ timeoutMs: 100 });
    expect(performance.now() - startedAt).to.be.within(99, 1_000);
    await hold.release();
  });
});
