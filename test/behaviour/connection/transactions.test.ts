import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { sent } from '../../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { isOverTls } from '../../../lab/servers/tls-front.ts';
import { rejection, until } from '../../../lab/until.ts';
import type { Frame } from '../../../lab/proxy/zk-proxy.ts';
import { startServer } from '../../../lab/servers/zookeeper-server.ts';
import { zxidOf } from '../../../lab/wire/zxid.ts';
import { now } from '../../../lab/world.ts';

const sessionTimeoutMs = 3_000;

/** The requests that write nothing to the log. A waiter reads its queue after its znode is seen there. */
const reads = new Set<Frame['op']>(['ping', 'sync', 'exists', 'getData', 'getChildren2']);

describe('the number of transactions', () => {
  const lab = labOfEachTest('transactions', { server: 'own', proxy: true, client: 'none' });
  let client: LockClient;
  let mutex: InterProcessMutex;

  beforeEach(async () => {
    client = await lab.connect({ sessionTimeoutMs });
    mutex = new InterProcessMutex(client, lab.path);
    await mutex.withLock(() => undefined);
  });

  /** Creates znodes before those of the client. Their owner writes nothing else. */
  const createPredecessors = async (count: number): Promise<void> => {
    for (let sequence = 1; sequence <= count; sequence += 1)
      await lab.observer.create(
        `${lab.path}/_c_00000000-0000-4000-8000-00000000000${sequence}-lock-000000000${sequence}`,
      );
  };
  const waitBehind = async (count: number): Promise<() => Promise<void>> => {
    await createPredecessors(count);
    const stop = new AbortController();
    const waiting = rejection(mutex.acquire({ signal: stop.signal }));
    await lab.queueReaches(count + 1);
    return async () => {
      stop.abort();
      await waiting;
    };
  };
  /** The kinds of requests that the client sends until it has sent `count` more of these. */
  const sentUntil = async (op: 'ping' | 'sync', count: number): Promise<Frame['op'][]> => {
    lab.proxy.clear();
    await lab.proxy.seen(sent(op), count);
    return [...new Set(lab.proxy.frames.filter(({ from }) => from === 'client').map((frame) => frame.op))];
  };
  /** The number of timeouts that pass until the client has sent 18 transactions, without those about `unless`. */
  const timeoutsOf18 = async (unless = ''): Promise<number> => {
    lab.proxy.clear();
    const startedAt = lab.now();
    await lab.proxy.seen(({ from, op, path }) => from === 'client' && !reads.has(op) && path !== unless, 18);
    return (lab.now() - startedAt) / sessionTimeoutMs;
  };

  it('of an idle client is 0', async () => {
    await lab.proxy.seen(sent('ping'));
    expect(await sentUntil('ping', 6)).to.deep.equal(['ping']);
  });

  it('of a waiter that is not next is 0', async () => {
    const stop = await waitBehind(2);
    // The session was active until one timeout after its hold.
    await sentUntil('sync', 9);
    expect(await sentUntil('sync', 6)).to.deep.equal(['sync']);
    await stop();
  });

  it('of a waiter that is next is six for each session timeout, and a question about its predecessor', async () => {
    const stop = await waitBehind(1);
    const [predecessor = ''] = (await lab.observer.children(lab.path)).filter((name) => name.startsWith('_c_0000'));
    expect(await timeoutsOf18(`${lab.path}/${predecessor}`)).to.be.closeTo(18 / 6, 0.05);
    await stop();
  });

  it('of a holder is six for each session timeout', async () => {
    await using _ = await mutex.acquire();
    expect(await timeoutsOf18()).to.be.closeTo(18 / 6, 0.05);
  });
});

/** Over TLS, two cores that other tests use too make fewer handshakes before the sessions of the last clients expire. */
const quietClients = isOverTls ? 100 : 1_000;

/** The time of one attempt to connect grows with it: a busy server must not spend its time on abandoned handshakes. */
const quietTimeoutMs = 20_000;

describe(`a server that restarts under ${quietClients} quiet clients`, function () {
  this.timeout(120_000);
  const clients: LockClient[] = [];
  after(() => Promise.all(clients.map((client) => client.close({ timeoutMs: 500 }))));

  const heardSince = (time: number): Promise<void> =>
    until('each client has an answer', () => clients.every(({ session }) => session.connection.heardAt > time), 30_000);

  it('writes no transaction for them', async () => {
    await using server = await startServer();
    while (clients.length < quietClients) {
      const connecting = Array.from({ length: 50 }, () =>
        LockClient.connect(server.connectString, { sessionTimeoutMs: quietTimeoutMs }),
      );
      clients.push(...(await Promise.all(connecting)));
    }
    const ids = clients.map(({ session }) => session.id);
    // After the proof of the connection, each client has sent a ping.
    await heardSince(now());
    const before = await zxidOf(server);
    await server.kill();
    await until('each client has noticed', () => clients.every(({ state }) => state === 'suspended'));
    await server.start();
    await until('each client is connected', () => clients.every(({ state }) => state === 'reconnected'), 40_000);
    await heardSince(now());
    expect((await zxidOf(server)) - before).to.equal(0n);
    expect(clients.map(({ session }) => session.id)).to.deep.equal(ids);
    await Promise.all(clients.map((client) => client.close()));
  });
});
