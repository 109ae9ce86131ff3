import { expect } from 'chai';
import { InterProcessMutex, type ConnectionState, type LockClient } from '../../../src/index.ts';
import { createPersistent, exists, openAcl, remove } from '../../../src/zookeeper/wire/operations.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { startSilentServer } from '../../../lab/servers/silent-server.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection, until } from '../../../lab/until.ts';
import { type Frame } from '../../../lab/proxy/zk-proxy.ts';
import { connectInOrder, nextState } from '../../../lab/lock-clients.ts';
import { ConnectionProbe } from '../../../lab/wire/connection-probe.ts';
import { isOverTls } from '../../../lab/servers/tls-front.ts';

/** The time of a first attempt with a session timeout of 24 s: a twenty-fourth, or twice as much with a TLS handshake. */
const attemptMs = isOverTls ? 2_000 : 1_000;

describe('silence', () => {
  const lab = labOfEachTest('silence', { server: 'own', proxy: true, client: 'none' });
  let client: LockClient | undefined;

  afterEach(async () => {
    await client?.close({ timeoutMs: 0 });
    client = undefined;
  });

  it('of a half-open connection is noticed after two thirds of the session timeout, and the next server is tried', async () => {
    client = await connectInOrder([lab.proxy, lab.server], { sessionTimeoutMs: 2_100 });
    const { id } = client.session;
    expect(lab.proxy.frames).not.to.be.empty;

    lab.proxy.silence();
    const askedAt = lab.now();
    const asked = rejection(client.session.request(exists('/')));
    expect(await nextState(client)).to.equal('suspended');
    expect(lab.now() - askedAt).to.be.closeTo((client.sessionTimeoutMs * 2) / 3, 10);
    expect((await asked).code).to.equal('CONNECTION_LOSS');

    expect(await nextState(client)).to.equal('reconnected');
    expect(client.session.id).to.equal(id);
    await client.session.request(exists('/'));
  });

  it('of a server that granted a session leaves half of the time to connect for the next server', async () => {
    lab.proxy.on(({ from, op, connection }) =>
      from === 'server' && op === 'multi' && connection === lab.proxy.frames[0]?.connection ? 'drop' : undefined,
    );
    const startedAt = lab.now();
    client = await connectInOrder([lab.proxy, lab.server], { sessionTimeoutMs: 24_000, connectionTimeoutMs: 3_000 });
    expect(lab.now() - startedAt).to.be.closeTo(3_000 / 2, 20);
    expect(client.session.connection.server).to.equal(lab.server.connectString);
    expect(client.session.epoch).to.equal(2);
  });

  it('of the only server may take more than half of the time to connect, because its first write may be slow', async () => {
    const later = lab.sleep(1_700);
    lab.proxy.on(({ from, op }) => (from === 'server' && op === 'multi' ? { delayUntil: later } : undefined));
    client = await connectInOrder([lab.proxy], { sessionTimeoutMs: 6_000, connectionTimeoutMs: 3_000 });
    expect(client.session.epoch).to.equal(1);
  });

  it('contains one heartbeat and one sync per sixth of the timeout, and no more, while a lock is held', async () => {
    client = await connectInOrder([lab.proxy], { sessionTimeoutMs: 4_800 });
    await using _ = await new InterProcessMutex(client, testPath('held')).acquire();
    const isHeartbeat = (frame: Frame): boolean => frame.from === 'client' && frame.op === 'multi';
    await lab.proxy.seen(isHeartbeat, 3);
    const startedAt = lab.now();
    lab.proxy.clear();
    await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'sync', 8);
    expect(lab.now() - startedAt, 'milliseconds for eight').to.be.closeTo(7 * (client.sessionTimeoutMs / 6), 60);
    const sent = (op: Frame['op']): number =>
      lab.proxy.frames.filter((frame) => frame.from === 'client' && frame.op === op).length;
    // The first sync belongs to an earlier transaction.
    expect([sent('sync'), sent('multi')]).to.deep.equal([8, 7]);
    expect(lab.proxy.frames.filter(isHeartbeat).every(({ body }) => body.length < 200)).to.equal(true);
  });

  it('is reported as suspended first, even if the deadline has already passed, and then as lost', async () => {
    client = await connectInOrder([lab.proxy], { sessionTimeoutMs: 2_000 });
    const { session } = client;
    // Waits until the ConnectRequest is no longer the freshest proof.
    const connectedUntil = session.deadline;
    const stop = session.keepProven();
    await until('a later request has proven the session', () => session.deadline > connectedUntil);
    stop();
    const states: ConnectionState[] = [];
    client.on('state', (state) => states.push(state));
    lab.proxy.silence();
    await until('the session is lost', () => states.includes('lost'));
    expect(states).to.deep.equal(['suspended', 'lost']);
    lab.proxy.speak();
    await until('the client is reconnected', () => states.includes('reconnected'));
  });

  it('is noticed after a quarter of the session timeout while a lock is held', async () => {
    client = await connectInOrder([lab.proxy, lab.server], { sessionTimeoutMs: 4_000 });
    const { session } = client;
    const nothing = (): void => undefined;
    const held = { path: '/', heldSince: 0, isInner: false, isOfLiveJob: false };
    const holding = { ...held, markLost: nothing, tellLost: nothing, foundMissing: nothing };
    session.hold(holding);
    lab.proxy.silence();
    const askedAt = lab.now();
    const asked = rejection(session.request(exists('/')));
    expect(await nextState(client)).to.equal('suspended');
    expect(lab.now() - askedAt).to.be.closeTo(session.timeoutMs / 4, 10);
    expect((await asked).code).to.equal('CONNECTION_LOSS');
    session.settle(holding);
  });

  it('of a server that accepts and never answers costs one attempt, and the next server is tried', async () => {
    await using silent = await startSilentServer();
    const startedAt = lab.now();
    client = await connectInOrder([silent, lab.server], { sessionTimeoutMs: 24_000 });
    expect(lab.now() - startedAt).to.be.closeTo(attemptMs, 10);
    const [connection] = silent.connections;
    expect(silent.connections).to.have.length(1);
    if (connection?.destroyed === false) await new Promise((resolve) => connection.once('close', resolve));
  });

  it('of a starting server that leaves its first connections unanswered ends soon after it answers', async () => {
    client = await connectInOrder([lab.proxy], { sessionTimeoutMs: 24_000 });
    const { id } = client.session;
    const present = lab.proxy.frames.at(-1)?.connection ?? 1;
    const unanswered = (frame: Frame): boolean =>
      frame.from === 'server' && frame.op === 'connect' && frame.connection <= present + 1;
    lab.proxy.on((frame) => (unanswered(frame) ? 'drop' : undefined));
    lab.proxy.cut();
    expect(await nextState(client)).to.equal('suspended');
    const startedAt = lab.now();
    expect(await nextState(client)).to.equal('reconnected');
    // The server answers on the next connection but one: after one unanswered attempt, and a pause of 25 to 50 ms.
    expect(lab.now() - startedAt).to.be.within(attemptMs + 25, attemptMs + 50 + 10);
    expect(client.session.id).to.equal(id);
  });

  it('of servers that accept doubles the attempt’s time after each round, until one answers a ConnectRequest', async () => {
    await using silent = await startSilentServer();
    const first = lab.proxy.on(({ from, op }) => (from === 'server' && op === 'connect' ? 'drop' : undefined));
    using probe = new ConnectionProbe([silent.port, lab.proxy.port], { attemptMs: 100 });
    probe.connection.connect();
    await silent.connected(3);
    first();
    await probe.next('connected');
    const { rounds } = probe;
    expect(rounds.slice(0, 6)).to.deep.equal([0, 0, 1, 1, 2, 2]);
    const before = rounds.length;
    lab.proxy.cut();
    await probe.next('disconnected');
    await probe.next('connected');
    // An attempt that the silent server leaves unanswered counts from the next round.
    expect(rounds.slice(before, before + 2)).to.deep.equal([0, 0]);
  });

  it('does not follow a heartbeat that the server refused', async () => {
    client = await connectInOrder([lab.proxy], { sessionTimeoutMs: 4_000 });
    client.session.keepProven();
    const isHeartbeat = ({ from, op }: Frame): boolean => from === 'client' && op === 'multi';
    await lab.proxy.seen(({ from, op }) => from === 'server' && op === 'multi');
    lab.proxy.clear();
    const accept = lab.proxy.on(({ from, op }) =>
      from === 'server' && op === 'multi' ? { replaceError: -125 } : undefined,
    );
    await lab.proxy.seen(isHeartbeat, 2);
    accept();
    await lab.proxy.seen(isHeartbeat, 4);
    expect(new Set(lab.proxy.frames.filter(isHeartbeat).map(({ connection }) => connection))).to.have.property(
      'size',
      1,
    );
  });

  it('of an idle client is broken by pings, although watch events keep the connection busy', async () => {
    client = await connectInOrder([lab.proxy], { sessionTimeoutMs: 3_000 });
    const { session } = client;
    const isOver = new Promise((resolve) => session.onChange(() => session.isConnected || resolve('over')));
    await using outside = await connectInOrder([lab.server], { sessionTimeoutMs: 10_000 });
    const parent = testPath('').slice(0, -1);
    await outside.session.request(createPersistent(parent, openAcl));
    const paths = Array.from({ length: 88 }, (_, index) => `${parent}/${index}`);
    await Promise.all(paths.map((path) => outside.session.request(createPersistent(path, openAcl))));
    const planted: Promise<unknown>[] = [];
    const fired = paths.map(
      (path) => new Promise((resolve) => planted.push(session.watches.plant(path, 'data', resolve))),
    );
    await Promise.all(planted);
    lab.proxy.clear();

    // A frame from the server arrives at least every third of the timeout, and the client itself asks for nothing.
    const left = [...paths];
    const news = setInterval(() => {
      const path = left.shift();
      if (path !== undefined) outside.session.request(remove(path)).catch(() => undefined);
    }, 50);
    const outcome = await Promise.race([Promise.all(fired), isOver]);
    clearInterval(news);
    expect(outcome).to.have.members(paths.map(() => 'deleted'));

    expect(client.session).to.equal(session);
    expect(lab.proxy.frames.filter(({ from, op }) => from === 'client' && op === 'ping').length).to.be.at.least(3);
    expect(new Set(lab.proxy.frames.filter(({ from }) => from === 'client').map(({ op }) => op))).to.deep.equal(
      new Set(['ping']),
    );
  });
});
