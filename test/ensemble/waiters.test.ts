import { expect } from 'chai';
import { InterProcessMutex, type Hold, type LockClient } from '../../src/index.ts';
import { connectInOrder } from '../../lab/lock-clients.ts';
import { testPath } from '../../lab/test-path.ts';
import { until } from '../../lab/until.ts';
import type { ZooKeeperServer } from '../../lab/servers/zookeeper-server.ts';
import { longTimeoutMs, shortTimeoutMs } from './support/rivals.ts';
import { tickTimeMs, useTrio } from '../../lab/servers/trio.ts';

/** Longer than a restart of a server on a busy machine. */
const restartMs = 20_000;

describe('a waiter whose server is down', function () {
  this.timeout(60_000);
  const used = useTrio();
  const clients: LockClient[] = [];

  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close({ timeoutMs: 200 }))));

  for (const knowTick of [false, true]) {
    const tick = knowTick ? 'the tick is known' : 'the tick is not known';

    it(`keeps its place if its session lives (${tick})`, async () => {
      const { follower, gate, mutex, waiting, behind } = await queue(restartMs, knowTick);
      const before = await places(mutex);
      const { id } = waiting.client.session;
      await follower.kill();
      await until('it noticed', () => waiting.client.state === 'suspended');
      await follower.start();
      await until('it is connected again', () => waiting.client.state === 'reconnected', restartMs);
      expect(waiting.client.session.id).to.equal(id);
      expect(await places(mutex)).to.deep.equal(before);
      expect(await gate.release()).to.equal('released');
      const first = await Promise.race([waiting.granted, behind.granted]);
      expect(first.path).to.equal(before[1]);
      expect(await first.release()).to.equal('released');
      expect((await behind.granted).path).to.equal(before[2]);
    });

    it(`keeps its place if all servers are down until its session's deadline has passed, and the session lives (${tick})`, async () => {
      const { gate, mutex, waiting } = await queue(longTimeoutMs, knowTick);
      const before = await places(mutex);
      const { id } = waiting.client.session;
      const { servers } = used.trio;
      await Promise.all(servers.map((server) => server.kill()));
      await until('every deadline has passed', () => clients.every(({ state }) => state === 'lost'), 30_000);
      expect(gate.isValid).to.equal(false);
      await Promise.all(servers.map((server) => server.start()));
      await until('it is connected again', () => waiting.client.state === 'reconnected', restartMs);
      expect(waiting.client.session.id).to.equal(id);
      expect(await gate.release()).to.equal('lost');
      expect((await waiting.granted).path).to.equal(before[1]);
      expect((await places(mutex))[0]).to.equal(before[1]);
    });

    it(`starts over in a new session, at the back, if its session has expired (${tick})`, async () => {
      const { follower, gate, mutex, waiting, behind } = await queue(shortTimeoutMs, knowTick, restartMs);
      const before = await places(mutex);
      const { id } = waiting.client.session;
      await follower.kill();
      await until('the servers have expired it', async () => (await places(mutex)).length === 2);
      await follower.start();
      await until('it is in the queue again', async () => (await places(mutex)).length === 3);
      expect(waiting.client.session.id).not.to.equal(id);
      const after = await places(mutex);
      expect(after.slice(0, 2)).to.deep.equal([before[0], before[2]]);
      await gate.release();
      const first = await Promise.race([waiting.granted, behind.granted]);
      expect(first.path).to.equal(before[2]);
      expect(await first.release()).to.equal('released');
      const second = await waiting.granted;
      expect(second.path).to.equal(after[2]);
      expect(second.fencingToken > first.fencingToken).to.equal(true);
    });
  }

  /** A holder, a waiter whose client knows one follower only and has this session timeout, and a waiter behind it. */
  async function queue(timeoutMs: number, knowTick: boolean, othersTimeoutMs = timeoutMs) {
    const [leader, follower, other] = await used.trio.whole();
    const path = testPath('waiters');
    const connect = async (servers: readonly ZooKeeperServer[], sessionTimeoutMs: number): Promise<LockClient> => {
      const client = await connectInOrder(servers, { sessionTimeoutMs, ...(knowTick && { tickTimeMs }) });
      clients.push(client);
      return client;
    };
    const mutex = new InterProcessMutex(await connect([leader, other], othersTimeoutMs), path);
    const gate = await mutex.acquire();
    const queueUp = async (
      servers: readonly ZooKeeperServer[],
      sessionTimeoutMs: number,
    ): Promise<{ client: LockClient; granted: Promise<Hold> }> => {
      const client = await connect(servers, sessionTimeoutMs);
      const length = (await mutex.participants()).length;
      const granted = new InterProcessMutex(client, path).acquire();
      granted.catch(() => undefined); // where the test ends first
      await until('it waits', async () => (await mutex.participants()).length > length);
      return { client, granted };
    };
    const waiting = await queueUp([follower], timeoutMs);
    return { follower, gate, mutex, waiting, behind: await queueUp([other, leader], othersTimeoutMs) };
  }
});

async function places(mutex: InterProcessMutex): Promise<string[]> {
  return (await mutex.participants()).map(({ path }) => path);
}
