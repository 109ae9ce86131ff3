import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { sent } from '../../../harness/frame-matches.ts';
import { labOfEachTest } from '../../../harness/lab.ts';
import { rejection, until } from '../../../harness/until.ts';
import { startServer } from '../../../harness/zookeeper-server.ts';
import { zxidOf } from '../../../harness/zxid.ts';

const sessionTimeoutMs = 1_500;

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
    await until('it is queued', async () => (await lab.observer.children(lab.path)).length === count + 1);
    return async () => {
      stop.abort();
      await waiting;
    };
  };
  /** The number of transactions until the client has sent `count` more of these. */
  const writtenUntil = async (op: 'ping' | 'sync', count: number): Promise<number> => {
    lab.proxy.clear();
    const before = await zxidOf(lab.server);
    await lab.proxy.seen(sent(op), count);
    return Number((await zxidOf(lab.server)) - before);
  };
  /** The number of timeouts that pass until 18 transactions are written. */
  const timeoutsOf18 = async (): Promise<number> => {
    const before = await zxidOf(lab.server);
    const startedAt = performance.now();
    await until('18 transactions are written', async () => (await zxidOf(lab.server)) >= before + 18n, 20_000);
    return (performance.now() - startedAt) / sessionTimeoutMs;
  };

  it('of an idle client is 0', async () => {
    await lab.proxy.seen(sent('ping'));
    expect(await writtenUntil('ping', 6)).to.equal(0);
  });

  it('of a waiter that is not next is 0', async () => {
    const stop = await waitBehind(2);
    // The session was active until one timeout after its hold.
    await writtenUntil('sync', 9);
    expect(await writtenUntil('sync', 6)).to.equal(0);
    await stop();
  });

  it('of a waiter that is next is at most six for each session timeout', async () => {
    const stop = await waitBehind(1);
    // The first of them may be due at once.
    expect(await timeoutsOf18()).to.be.at.least(17 / 6 - 0.01);
    await stop();
  });

  it('of a holder is at most six for each session timeout', async () => {
    await using _ = await mutex.acquire();
    expect(await timeoutsOf18()).to.be.at.least(17 / 6 - 0.01);
  });
});

describe('a server that restarts under 1,000 quiet clients', function () {
  this.timeout(60_000);
  const clients: LockClient[] = [];
  after(() => Promise.all(clients.map((client) => client.close({ timeoutMs: 500 }))));

  const heardSince = (time: number): Promise<void> =>
    until('each client has an answer', () => clients.every(({ session }) => session.heardAt > time), 30_000);

  it('writes no transaction for them', async () => {
    await using server = await startServer();
    while (clients.length < 1_000) {
      const connecting = Array.from({ length: 50 }, () =>
        LockClient.connect(server.connectString, { sessionTimeoutMs: 10_000 }),
      );
      clients.push(...(await Promise.all(connecting)));
    }
    const ids = clients.map(({ session }) => session.id);
    // After the proof of the connection, each client has sent a ping.
    await heardSince(performance.now());
    const before = await zxidOf(server);
    await server.kill();
    await until('each client has noticed', () => clients.every(({ state }) => state === 'suspended'));
    await server.start();
    await until('each client is connected', () => clients.every(({ state }) => state === 'reconnected'), 20_000);
    await heardSince(performance.now());
    expect((await zxidOf(server)) - before).to.equal(0n);
    expect(clients.map(({ session }) => session.id)).to.deep.equal(ids);
    await Promise.all(clients.map((client) => client.close()));
  });
});
