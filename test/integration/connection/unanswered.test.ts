import { expect } from 'chai';
import { closeSession, createPersistent, exists, openAcl } from '../../../src/zookeeper/operations.ts';
import { labOfEachTest } from '../../../harness/lab.ts';
import { testPath } from '../../../harness/test-path.ts';
import { rejection } from '../../../harness/until.ts';
import { ConnectionProbe } from '../../../harness/connection-probe.ts';
import { connectInOrder } from '../../../harness/lock-clients.ts';

describe('an unanswered request', () => {
  const lab = labOfEachTest('unanswered', { server: 'own', proxy: true, client: 'none' });
  let probe: ConnectionProbe;

  beforeEach(async () => {
    probe = await ConnectionProbe.connect([lab.proxy.port]);
  });
  afterEach(() => probe[Symbol.dispose]());

  /** Requests whose answers do not come, as the codes that they reject with. */
  const inFlight = (): Promise<(string | undefined)[]> =>
    Promise.all([1, 2, 3].map(async () => (await rejection(probe.send(exists('/')))).code));

  const lost = ['CONNECTION_LOSS', 'CONNECTION_LOSS', 'CONNECTION_LOSS'];

  it('is failed when its connection is lost, with the reason as its cause', async () => {
    lab.proxy.silence();
    const asked = inFlight();
    const because = rejection(probe.send(exists('/')));
    await lab.proxy.seen(({ op }) => op === 'exists', 4);
    lab.proxy.cut();
    expect(await asked).to.deep.equal(lost);
    expect((await because).cause).to.equal(probe.connection.lastError);
    expect(probe.connection.lastError).to.have.property('message', `127.0.0.1:${lab.proxy.port} closed the connection`);
  });

  it('is failed when the client itself drops the connection', async () => {
    lab.proxy.silence();
    const asked = inFlight();
    const because = new Error('too slow');
    probe.connection.drop(because);
    const late = rejection(probe.send(exists('/')));
    expect(await asked).to.deep.equal(lost);
    expect(await late).to.include({ code: 'CONNECTION_LOSS', cause: because });
  });

  it('is failed when everything is given up', async () => {
    lab.proxy.silence();
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
    lab.proxy.cut();
    await again;
    const [refused] = await Promise.all(tooEarly);
    expect(refused?.code).to.equal('CONNECTION_LOSS');
    expect(refused?.cause).to.have.property('message', `127.0.0.1:${lab.proxy.port} closed the connection`);
    expect(await rejection(probe.send(exists(path)))).to.have.property('code', 'NO_NODE');
    expect(lab.proxy.frames.filter(({ op }) => op === 'create')).to.deep.equal([]);
  });

  it('is failed when the session is over, and so is every one that follows', async () => {
    lab.proxy.silence();
    const asked = inFlight();
    // The server closes the connection that the twin replaces. Silence keeps that from the probe, which would come back
    // and replace the twin.
    using twin = await ConnectionProbe.connect([lab.server.port], { resume: probe.connection.identity });
    await twin.send(closeSession());
    const whenTold = new Promise<string | undefined>((resolve) => {
      probe.on('expired', () => void rejection(probe.send(exists('/'))).then(({ code }) => resolve(code)));
    });
    lab.proxy.cut();
    lab.proxy.speak();
    expect(await asked).to.deep.equal(lost);
    expect(await whenTold).to.equal('CONNECTION_LOSS');
    expect(await inFlight()).to.deep.equal(lost);
  });

  for (const [when, lose] of Object.entries({
    'before its answer': () => lab.proxy.silence(),
    'while there is no connection': async () => {
      await lab.proxy.refuse();
      lab.proxy.cut();
    },
  })) {
    it(`is failed when the client is closed ${when}, and so is every one that follows`, async () => {
      const client = await connectInOrder([lab.proxy], { sessionTimeoutMs: 4_000 });
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
