import { expect } from 'chai';
import { closeSession, createPersistent, exists, openAcl } from '../../../src/zookeeper/operations.ts';
import { testPath } from '../../../harness/test-path.ts';
import { rejection } from '../../../harness/until.ts';
import { startProxy, type ZkProxy } from '../../../harness/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../../harness/zookeeper-server.ts';
import { ConnectionProbe } from '../../../harness/connection-probe.ts';
import { connectInOrder } from '../../../harness/lock-clients.ts';

describe('an unanswered request', () => {
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let probe: ConnectionProbe;

  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  beforeEach(async () => {
    proxy = await startProxy(server.port);
    probe = await ConnectionProbe.connect([proxy.port]);
  });
  afterEach(async () => {
    probe[Symbol.dispose]();
    await proxy.close();
  });

  /** Requests whose answers do not come, as the codes that they reject with. */
  const inFlight = (): Promise<(string | undefined)[]> =>
    Promise.all([1, 2, 3].map(async () => (await rejection(probe.send(exists('/')))).code));

  const lost = ['CONNECTION_LOSS', 'CONNECTION_LOSS', 'CONNECTION_LOSS'];

  it('is failed when its connection is lost, with the reason as its cause', async () => {
    proxy.silence();
    const asked = inFlight();
    const because = rejection(probe.send(exists('/')));
    await proxy.seen(({ op }) => op === 'exists', 4);
    proxy.cut();
    expect(await asked).to.deep.equal(lost);
    expect((await because).cause).to.equal(probe.connection.lastError);
    expect(probe.connection.lastError).to.have.property('message', `127.0.0.1:${proxy.port} closed the connection`);
  });

  it('is failed when the client itself drops the connection', async () => {
    proxy.silence();
    const asked = inFlight();
    const because = new Error('too slow');
    probe.connection.drop(because);
    const late = rejection(probe.send(exists('/')));
    expect(await asked).to.deep.equal(lost);
    expect(await late).to.include({ code: 'CONNECTION_LOSS', cause: because });
  });

  it('is failed when everything is given up', async () => {
    proxy.silence();
    const asked = inFlight();
    probe.connection.abandon();
    expect(await asked).to.deep.equal(lost);
    expect(await inFlight()).to.deep.equal(lost);
  });

  it('cannot come about without a connection: it fails at once, and the next server never sees it', async () => {
    const path = testPath('').slice(0, -1);
    const tooEarly: Promise<Error & { code?: string }>[] = [];
    probe.on('disconnected', () => tooEarly.push(rejection(probe.send(createPersistent(path, openAcl)))));
    const again = probe.next('connected');
    proxy.cut();
    await again;
    const [refused] = await Promise.all(tooEarly);
    expect(refused?.code).to.equal('CONNECTION_LOSS');
    expect(refused?.cause).to.have.property('message', `127.0.0.1:${proxy.port} closed the connection`);
    expect(await rejection(probe.send(exists(path)))).to.have.property('code', 'NO_NODE');
    expect(proxy.frames.filter(({ op }) => op === 'create')).to.deep.equal([]);
  });

  it('is failed when the session is over, and so is every one that follows', async () => {
    proxy.silence();
    const asked = inFlight();
    // The server closes the connection that the twin replaces. Silence keeps that from the probe, which would come back and replace the twin.
    using twin = await ConnectionProbe.connect([server.port], { resume: probe.connection.identity });
    await twin.send(closeSession());
    const whenTold = new Promise<string | undefined>((resolve) => {
      probe.on('expired', () => void rejection(probe.send(exists('/'))).then(({ code }) => resolve(code)));
    });
    proxy.cut();
    proxy.speak();
    expect(await asked).to.deep.equal(lost);
    expect(await whenTold).to.equal('CONNECTION_LOSS');
    expect(await inFlight()).to.deep.equal(lost);
  });

  for (const [when, lose] of Object.entries({
    'before its answer': () => proxy.silence(),
    'while there is no connection': async () => {
      await proxy.refuse();
      proxy.cut();
    },
  })) {
    it(`is failed when the client is closed ${when}, and so is every one that follows`, async () => {
      const client = await connectInOrder([proxy], { sessionTimeoutMs: 4_000 });
      await lose();
      const asked = [rejection(client.session.request(exists('/')))];
      const closing = client.close({ timeoutMs: 100 });
      asked.push(rejection(client.session.request(exists('/'))));
      await closing;
      asked.push(rejection(client.session.request(exists('/'))));
      expect((await Promise.all(asked)).map(({ code }) => code)).to.deep.equal(lost);
    });
  }
});
