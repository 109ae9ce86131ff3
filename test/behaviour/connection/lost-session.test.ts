import { expect } from 'chai';
import { InterProcessMutex, LockClient, type BackgroundEvent, type Hold } from '../../../src/index.ts';
import { connectObserver } from '../../../lab/wire/observer.ts';
import { testPath } from '../../../lab/test-path.ts';
import { aborted, until } from '../../../lab/until.ts';
import { startProxy, type Frame, type ZkProxy } from '../../../lab/proxy/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { now, sleep, stall } from '../../../lab/world.ts';

const sessionTimeoutMs = 2_000;

/** After a hold was lost, the client dials the lost session again in order to close it. */
describe('a lost session', () => {
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
  const dialsLostSession = (frame: Frame): boolean => isConnect(frame) && frame.body.readBigInt64BE(16) === lost;
  const dials = (): number => proxy.frames.filter(dialsLostSession).length;
  const isClosed = (): boolean => events.some(({ type }) => type === 'lost-session-closed');

  const loseAHold = async (path = testPath('ghost')): Promise<Hold> => {
    lost = client.session.id;
    const hold = await new InterProcessMutex(client, path).acquire();
    const hear = proxy.on((frame) => (frame.from === 'server' ? 'drop' : undefined));
    await aborted(hold.signal);
    hear();
    await until('the next session is connected', () => client.session.id !== lost && client.session.isConnected);
    proxy.clear();
    return hold;
  };

  it('is dialled twice on wiped servers, which then say that it has ended', async () => {
    const hold = await new InterProcessMutex(client, testPath('ghost')).acquire();
    lost = client.session.id;
    await server.kill();
    server.wipe();
    await server.start();
    await aborted(hold.signal);
    await until('the next session is connected', () => client.session.id !== lost && client.session.isConnected);
    proxy.clear();
    await hold.release();
    await until('the lost session is closed', isClosed);
    // A server with older data refuses the session's zxid without a reply, and answers if the zxid is 0.
    expect(proxy.frames.filter(dialsLostSession).map(({ body }) => body.readBigInt64BE(4) === 0n)).to.deep.equal([
      false,
      true,
    ]);
  });

  it('is given up after 1.5 of its timeouts of refusals without a reply, and is not reported as closed', async () => {
    const hold = await loseAHold();
    proxy.on((frame) => (dialsLostSession(frame) ? 'cut' : undefined));
    await hold.release();
    await proxy.seen(dialsLostSession, 2);
    const { connectedAt } = client.session.connection;
    const releasedAt = now();
    await until(
      'the servers have answered for two session timeouts',
      () => client.session.connection.heardAt >= releasedAt + 2 * sessionTimeoutMs,
    );
    const dialled = dials();
    // The pauses last for 125 to 250 ms at first, and for 333 to 667 ms at last.
    expect(dialled).to.be.within(6, 11);
    await until(
      'the servers have answered for a third session timeout',
      () => client.session.connection.heardAt >= releasedAt + 3 * sessionTimeoutMs,
    );
    expect(dials()).to.equal(dialled);
    expect(client.session.connection.connectedAt).to.equal(connectedAt);
    expect(isClosed()).to.equal(false);
    const startedAt = now();
    await client.close();
    expect(now() - startedAt).to.be.below(10);
    expect(dials()).to.equal(dialled);
  });

  it('is dialled for 1.5 of its timeouts after a server has accepted it, and with that has extended it', async () => {
    const hold = await loseAHold();
    proxy.on((frame) => (frame.from === 'client' && frame.op === 'closeSession' ? 'cut' : undefined));
    const passes = proxy.on((frame) => (dialsLostSession(frame) ? 'cut' : undefined));
    await hold.release();
    const releasedAt = now();
    const answersAt = (ms: number): Promise<void> =>
      until(`the servers have answered at ${ms}`, () => client.session.connection.heardAt >= ms);
    await answersAt(releasedAt + sessionTimeoutMs / 2);
    passes();
    await proxy.seen((frame) => frame.from === 'client' && frame.op === 'closeSession');
    const acceptedAt = now();
    let lastDialAt = acceptedAt;
    proxy.on((frame) => {
      if (!dialsLostSession(frame)) return undefined;
      lastDialAt = now();
      return 'cut';
    });
    await answersAt(acceptedAt + 3 * sessionTimeoutMs);
    // The last answer to the client came at the dial before, a third of the timeout earlier at most.
    const lastMs = lastDialAt - acceptedAt;
    expect(lastMs / sessionTimeoutMs).to.be.within(1.5, 1.5 + 1 / 3 + 0.01);
    expect(isClosed()).to.equal(false);
  });

  it('is not dialled while the client itself has no connection', async () => {
    const hold = await loseAHold();
    proxy.on((frame) => (isConnect(frame) ? 'cut' : undefined));
    proxy.cut();
    await until('the connection is lost', () => client.state === 'suspended');
    await hold.release();
    await proxy.seen(isConnect, 4);
    expect(dials()).to.equal(0);
  });

  it('is closed as soon as the client is connected again', async () => {
    await using observer = await connectObserver(server.connectString);
    const path = testPath('ghost');
    const hold = await loseAHold(path);
    const whileDown = proxy.on((frame) => (isConnect(frame) ? 'cut' : undefined));
    proxy.cut();
    await until('the connection is lost', () => client.state === 'suspended');
    await hold.release();
    whileDown();
    await until('the client is connected again', () => client.session.isConnected);
    await until('the lost session is closed', isClosed);
    expect(dials()).to.equal(1);
    expect(await observer.children(path)).to.deep.equal([]);
  });

  it('is closed by close() as soon as a server answers again, which deletes its znode', async () => {
    await using observer = await connectObserver(server.connectString);
    const path = testPath('ghost');
    const hold = await loseAHold(path);
    const whileDown = proxy.on((frame) => (isConnect(frame) ? 'cut' : undefined));
    proxy.cut();
    await until('the connection is lost', () => client.state === 'suspended');
    await hold.release();
    const closing = client.close({ timeoutMs: 15_000 });
    await proxy.seen(dialsLostSession, 3);
    expect(await observer.children(path)).to.have.length(1);
    whileDown();
    await closing;
    expect(await observer.children(path)).to.have.length(0);
  });

  it('is closed although no hold is released, if a listener of the end of a lease finds that it is lost', async () => {
    const hold = await new InterProcessMutex(client, testPath('ghost')).acquire({ leaseMs: 1_000 });
    hold.signal.addEventListener('abort', () => client.session.isAlive());
    stall(0.95 * sessionTimeoutMs);
    expect(hold.isValid).to.equal(false);
    expect([hold.signal.reason, client.state]).to.deep.equal([hold.loss, 'lost']);
    expect(hold.loss).to.have.property('reason', 'lease-expired');
    await until('the lost session is closed', isClosed);
  });

  it('is closed on the servers by close(), even while its job runs', async () => {
    await using _hold = await loseAHold();
    await client.close();
    expect(dials()).to.equal(1);
    expect(proxy.frames.some((frame) => frame.from === 'server' && frame.op === 'closeSession')).to.equal(true);
  });

  it('is dialled at once by close(), although the next attempt is not due yet', async () => {
    const hold = await loseAHold();
    const passes = proxy.on((frame) => (dialsLostSession(frame) ? 'cut' : undefined));
    await hold.release();
    await proxy.seen(dialsLostSession, 4);
    await sleep(50);
    passes();
    const startedAt = now();
    await client.close();
    expect(now() - startedAt).to.be.below(50);
    expect(proxy.frames.some((frame) => frame.from === 'server' && frame.op === 'closeSession')).to.equal(true);
  });

  it('delays close() by at most its timeout while a server accepts the connection and stays silent', async () => {
    await using _hold = await loseAHold();
    proxy.on((frame) => (dialsLostSession(frame) ? 'drop' : undefined));
    const startedAt = now();
    await client.close({ timeoutMs: 100 });
    expect(now() - startedAt).to.be.closeTo(100, 10);
  });
});
