import { expect } from 'chai';
import { closeSession, createPersistent, exists, openAcl } from '../../../src/zookeeper/wire/operations.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection } from '../../../lab/until.ts';
import { ConnectionProbe } from '../../../lab/wire/connection-probe.ts';
import { connectInOrder } from '../../../lab/lock-clients.ts';

describe('an unanswered request', () => {
  const lab = labOfEachTest('unanswered', { server: 'own', proxy: true, client: 'none' });
  let probe: ConnectionProbe;

  beforeEach(async () => (probe = await ConnectionProbe.connect([lab.proxy.port])));
  afterEach(() => probe[Symbol.dispose]());

  /** The error codes of three requests whose replies do not arrive. */
  const inFlight = (): Promise<(string | undefined)[]> =>
    Promise.all([1, 2, 3].map(async () => (await rejection(probe.send(exists('/')))).code));

  const lost = ['CONNECTION_LOSS', 'CONNECTION_LOSS', 'CONNECTION_LOSS'];

  it('fails when its connection is lost, with the reason as its cause', async () => {
    lab.proxy.silence();
    const asked = inFlight();
    const because = rejection(probe.send(exists('/')));
    await lab.proxy.seen(({ op }) => op === 'exists', 4);
    lab.proxy.cut();
    expect(await asked).to.deep.equal(lost);
    expect((await because).cause).to.equal(probe.connection.lastError);
    expect(probe.connection.lastError).to.have.property('message', `127.0.0.1:${lab.proxy.port} closed the connection`);
  });

  it('fails when the client itself drops the connection', async () => {
    lab.proxy.silence();
    const asked = inFlight();
    const because = new Error('too slow');
    probe.connection.drop(because);
    const late = rejection(probe.send(exists('/')));
    expect(await asked).to.deep.equal(lost);
    expect(await late).to.include({ code: 'CONNECTION_LOSS', cause: because });
  });

  it('fails when the connection is abandoned', async () => {
    lab.proxy.silence();
    const asked = inFlight();
    probe.connection.abandon();
    expect(await asked).to.deep.equal(lost);
    expect(await inFlight()).to.deep.equal(lost);
  });

  it('fails at once if there is no connection, and the next server never gets it', async () => {
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

  it('fails when the session has ended, and so does every later request', async () => {
    lab.proxy.silence();
    const asked = inFlight();
    // The server closes the connection that the twin replaces. The silence hides that from the probe, which would
    // otherwise reconnect and replace the twin.
    using twin = await ConnectionProbe.connect([lab.server.port], { resume: probe.connection.identity });
    await twin.send(closeSession());
    const afterExpiry = new Promise<string | undefined>((resolve) => {
      probe.on('expired', () => void rejection(probe.send(exists('/'))).then(({ code }) => resolve(code)));
    });
    lab.proxy.cut();
    lab.proxy.speak();
    expect(await asked).to.deep.equal(lost);
    expect(await afterExpiry).to.equal('CONNECTION_LOSS');
    expect(await inFlight()).to.deep.equal(lost);
  });

  for (const [when, lose] of Object.entries({
    'before the reply': () => lab.proxy.silence(),
    'while there is no connection': async () => {
      await lab.proxy.refuse();
      lab.proxy.cut();
    },
  }))
    it(`fails when the client is closed ${when}, and so does every later request`, async () => {
      const client = await connectInOrder([lab.proxy], { sessionTimeoutMs: 4_000 });
      await lose();
      const asked = [rejection(client.session.request(exists('/')))];
      const closing = client.close({ timeoutMs: 100 });
      asked.push(rejection(client.session.request(exists('/'))));
      await closing;
      asked.push(rejection(client.session.request(exists('/'))));
      expect((await Promise.all(asked)).map(({ code }) => code)).to.deep.equal(lost);
    });
});
