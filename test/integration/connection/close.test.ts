import { expect } from 'chai';
import { once } from 'node:events';
import { ConnectionTimeoutError, LockClient } from '../../../src/index.ts';
import { createSequential, openAcl } from '../../../src/zookeeper/operations.ts';
import { startSilentServer } from '../../../harness/silent-server.ts';
import { connectObserver as stranger, type Observer as Stranger } from '../../../harness/observer.ts';
import { testPath } from '../../../harness/test-path.ts';
import { rejection } from '../../../harness/until.ts';
import { startProxy, type Frame, type ZkProxy } from '../../../harness/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../../harness/zookeeper-server.ts';
import { connectInOrder, nextState } from '../../../harness/lock-clients.ts';

/** What a busy machine may add to a timer. */
const slackMs = 400;

const from = (side: Frame['from'], op: Frame['op']) => (frame: Frame): boolean => frame.from === side && frame.op === op;

describe('close()', () => {
  let server: ZooKeeperServer;
  let outside: Stranger;
  let proxy: ZkProxy;
  let client: LockClient;
  /** A znode that goes with the client's session. */
  let path: string;
  let sessionId: bigint;

  before(async () => {
    server = await startServer();
    outside = await stranger(server.connectString);
  });
  after(async () => {
    await outside[Symbol.asyncDispose]();
    await server.stop();
  });
  beforeEach(async () => {
    proxy = await startProxy(server.port);
    // Longer than a test: what is gone was ended, and did not expire.
    client = await connectInOrder([proxy], { sessionTimeoutMs: 30_000 });
    sessionId = client.session.id;
    const { value } = await client.session.request(createSequential(testPath('').slice(0, -1), Buffer.alloc(0), openAcl));
    path = value.path;
  });
  afterEach(async () => {
    await client.close({ timeoutMs: 0 });
    await proxy.close();
  });

  const isOnServer = async (): Promise<{ session: boolean; znode: boolean }> => ({
    // Without its connections, of which the server may still be closing ours.
    session: await isAlive(sessionId),
    znode: await outside.exists(path),
  });
  /** Named on a line of its own by the session tracker: the list of connections may name it a moment longer. */
  const isAlive = async (id: bigint): Promise<boolean> => {
    const lines = (await server.command('dump')).split('\n').map((line) => line.trim());
    return lines.includes(`0x${id.toString(16)}`);
  };
  const gone = { session: false, znode: false };
  /** Longer than a test: what resolves was answered, and did not give up. */
  const patient = { timeoutMs: 25_000 };

  it('has ended the session on the server, and deleted its znodes, when it resolves', async () => {
    expect(await isOnServer()).to.deep.equal({ session: true, znode: true });
    await client.close(patient);
    expect(await isOnServer()).to.deep.equal(gone);
    expect(client.state).to.equal('closed');
  });

  it('without a connection waits for one, and ends the session there', async () => {
    await proxy.refuse();
    proxy.cut();
    expect(await nextState(client)).to.equal('suspended');
    const closing = client.close(patient);
    expect(await isOnServer()).to.deep.equal({ session: true, znode: true });
    await proxy.accept();
    await closing;
    expect(await isOnServer()).to.deep.equal(gone);
  });

  it('by who is told that the connection is lost ends the session on the next one', async () => {
    const closing = new Promise<void>((resolve) => client.once('state', () => void client.close(patient).then(resolve)));
    proxy.cut();
    await closing;
    expect(await isOnServer()).to.deep.equal(gone);
  });

  it('whose request is lost asks again on the next connection', async () => {
    const remove = proxy.on((frame) => {
      if (!from('client', 'closeSession')(frame)) return undefined;
      remove();
      return 'cut';
    });
    await client.close(patient);
    expect(proxy.frames.filter(from('client', 'closeSession'))).to.have.length(2);
    expect(await isOnServer()).to.deep.equal(gone);
  });

  for (const action of ['cut', 'cut-inside'] as const) {
    it(`whose answer is lost (${action}) resolves when the next connection knows no such session`, async () => {
      proxy.on((frame) => (from('server', 'closeSession')(frame) ? action : undefined));
      await client.close(patient);
      expect(proxy.frames.filter(from('client', 'connect'))).to.have.length(2);
      expect(await isOnServer()).to.deep.equal(gone);
    });
  }

  it('over a half-open connection does not wait for it: the next server is asked', async () => {
    await client.close();
    client = await connectInOrder([proxy, server], { sessionTimeoutMs: 2_000 });
    const { id } = client.session;
    proxy.silence();
    const startedAt = performance.now();
    await client.close(patient);
    expect(performance.now() - startedAt).to.be.below(2_000 / 4 + slackMs);
    expect(await isAlive(id)).to.equal(false);
  });

  for (const [what, kill] of Object.entries({
    'fell silent': () => proxy.silence(),
    'is gone': async () => {
      await proxy.refuse();
      proxy.cut();
    },
    'accepts and never answers': () => {
      proxy.silence();
      proxy.cut();
    },
  })) {
    it(`with a server that ${what} resolves after its timeout`, async () => {
      await kill();
      const startedAt = performance.now();
      await client.close({ timeoutMs: 200 });
      expect(performance.now() - startedAt).to.be.within(199, 200 + slackMs);
      expect(client.state).to.equal('closed');
    });
  }

  it('after the session expired, while no server answers for a new one, resolves at once', async () => {
    const isNew = (frame: Frame): boolean => from('client', 'connect')(frame) && frame.body.readBigInt64BE(16) === 0n;
    proxy.clear();
    proxy.on((frame) => (isNew(frame) ? 'hold' : undefined));
    const isLost = new Promise<void>((resolve) => client.on('state', (state) => state === 'lost' && resolve()));
    await outside.endSession(client);
    await isLost;
    await proxy.seen(isNew);
    await client.close(patient);
  });

  it('is one promise, however often it is called', async () => {
    const closing = client.close();
    expect(client.close({ timeoutMs: 0 })).to.equal(closing);
    await closing;
    expect(client.close()).to.equal(closing);
  });
});

describe('connect() that is given up closes its connection and tries no other', () => {
  it('when its signal is aborted', async () => {
    await using silent = await startSilentServer();
    const controller = new AbortController();
    const connecting = rejection(LockClient.connect(silent.connectString, { signal: controller.signal }));
    const closed = once(await silent.connected(), 'close');
    const reason = new Error('changed my mind');
    controller.abort(reason);
    expect(await connecting).to.equal(reason);
    await closed;
    expect(silent.connections).to.have.length(1);
  });

  it('when its time is over', async () => {
    await using silent = await startSilentServer();
    const connecting = rejection(LockClient.connect(silent.connectString, { connectionTimeoutMs: 100 }));
    const closed = once(await silent.connected(), 'close');
    expect(await connecting).to.be.instanceOf(ConnectionTimeoutError);
    await closed;
    expect(silent.connections).to.have.length(1);
  });
});
