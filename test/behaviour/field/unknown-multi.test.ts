import { expect } from 'chai';
import { InterProcessMutex, LockClient, LockError, ZooKeeperError } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { nameOfServers, Resolver } from '../../../lab/resolver.ts';
import { answered, sent } from '../../../lab/proxy/frame-matches.ts';
import { startRelay } from '../../../lab/proxy/relay.ts';
import { onFreshPorts } from '../../../lab/servers/free-port.ts';
import { startProxy, type Op, type ZkProxy } from '../../../lab/proxy/zk-proxy.ts';
import { rejection } from '../../../lab/until.ts';
import { createParents, dialsInAMinute, keepsWarnings, mostDialsInAMinute, statesOf } from './support.ts';

const sessionTimeoutMs = 6_000;
const limit = { timeoutMs: 5 * sessionTimeoutMs };
const unimplemented = -6;
const needed =
  'ZooKeeper 3.5 or later is needed, without a filter between the client and the servers: `zklock check` names the versions';

/** A server before 3.4 says that it does not know a transaction, and closes the connection. A filter may do either. */
type Way = 'says so' | 'says so and closes the connection' | 'closes the connection';
const ways: readonly Way[] = ['says so', 'says so and closes the connection', 'closes the connection'];

describe('FIELD A4: a server that does not know multi', function () {
  this.timeout(400_000);
  const lab = labOfEachTest('unknown-multi', { server: 'own', proxy: true, client: 'none' });
  const proxies: ZkProxy[] = [];
  afterEach(async () => {
    for (const proxy of proxies.splice(0)) await proxy.close();
  });

  const lack = (proxy: ZkProxy, way: Way, op: Op = 'multi'): void => {
    proxy.on((frame) => {
      if (sent(op)(frame)) return way === 'closes the connection' ? 'cut' : { refuse: unimplemented };
      const isAnswer = answered(op)(frame) && frame.err === unimplemented;
      return isAnswer && way === 'says so and closes the connection' ? 'cut-after' : undefined;
    });
  };
  const another = async (way?: Way): Promise<ZkProxy> => {
    const proxy = await startProxy(lab.server.port);
    proxies.push(proxy);
    if (way) lack(proxy, way);
    return proxy;
  };
  const hostsOf = (...all: ZkProxy[]): string => all.map(({ connectString }) => connectString).join(',');
  const failure = (hosts: string): Promise<Error> => rejection(LockClient.connect(hosts, { sessionTimeoutMs }));

  for (const way of ['says so', 'says so and closes the connection'] as const) {
    it(`and ${way}: connect rejects at once, with the server, the operation and what is needed`, async () => {
      lack(lab.proxy, way);
      const startedAt = lab.now();
      const error = await failure(lab.proxy.connectString);
      expect(lab.now() - startedAt).to.be.below(100);
      expect(error).to.be.instanceOf(LockError).and.to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
      expect(error.cause)
        .to.be.instanceOf(ZooKeeperError)
        .and.to.include({ code: 'UNIMPLEMENTED', operation: 'multi' });
      expect(error.message)
        .to.include(`${lab.proxy.connectString} does not know the request multi`)
        .and.to.include(needed);
    });

    it(`and ${way}: connect rejects as soon as each server of several has said so`, async () => {
      const all = [await another(way), await another(way), await another(way)];
      const startedAt = lab.now();
      const error = await failure(hostsOf(...all));
      expect(lab.now() - startedAt).to.be.below(100);
      expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
      expect(all.map(({ dials }) => dials)).to.deep.equal([1, 1, 1]);
    });

    it(`and ${way}: if another server cannot be reached, connect tries until its timeout, and names both`, async () => {
      const [lacking, away] = [await another(way), await another()];
      await away.refuse();
      const error = await failure(hostsOf(lacking, away));
      expect(error).to.have.property('code', 'ERR_LOCK_CONNECTION_TIMEOUT');
      expect(error.message)
        .to.include(`${lacking.connectString} does not know the request multi`)
        .and.to.include('ECONNREFUSED')
        .and.to.include(needed);
    });

    it(`and ${way}: a client connects if another address of the same name leads to one that knows it`, async () => {
      using resolver = new Resolver('127.0.0.2');
      await onFreshPorts(1, async ([port = 0]) => {
        await using lacking = await startRelay('127.0.0.2', port, lab.proxy.port);
        await using served = await startRelay('127.0.0.3', port, lab.server.port);
        const connect = (): Promise<LockClient> => LockClient.connect(`${nameOfServers}:${port}`, { sessionTimeoutMs });
        // From now on, the first address is dialled first, because it has worked.
        await (await connect()).close();
        resolver.addresses.push('127.0.0.3');
        lack(lab.proxy, way);
        await using client = await connect();
        await new InterProcessMutex(client, lab.path).withLock(() => undefined, limit);
        expect([lacking.connections, served.connections]).to.deep.equal([2, 1]);
      });
    });

    it(`and ${way}: a session that reconnects there goes on at the next server, with its hold`, async () => {
      const [first, second] = [await another(), await another()];
      const client = await lab.connect({ sessionTimeoutMs }, hostsOf(first, second));
      await using hold = await new InterProcessMutex(client, lab.path).acquire(limit);
      const [present, other] = first.frames.length > 0 ? [first, second] : [second, first];
      lack(other, way);
      present.cut();
      await lab.sleep(3 * sessionTimeoutMs);
      expect(hold.isValid).to.equal(true);
      expect(client.health().server).to.equal(present.connectString);
    });
  }

  it('and closes the connection: connect tries until its timeout, and names the server, the operation and what is needed', async () => {
    lack(lab.proxy, 'closes the connection');
    const error = await failure(lab.proxy.connectString);
    expect(error).to.have.property('code', 'ERR_LOCK_CONNECTION_TIMEOUT');
    expect(error.message)
      .to.include(`${lab.proxy.connectString} ends each connection on which it gets the request multi`)
      .and.to.include(needed);
    expect(lab.proxy.dials).to.be.at.most(mostDialsInAMinute);
  });

  for (const way of ways) {
    it(`and ${way}: a client connects if only the last of five servers knows it`, async () => {
      const lacking = [await another(way), await another(way), await another(way), await another(way)];
      // Each client shuffles its servers, so it may find the good one at once, or after a round.
      for (let time = 1; time <= 12; time += 1) {
        const startedAt = lab.now();
        const client = await lab.connect({ sessionTimeoutMs }, hostsOf(...lacking, lab.proxy));
        expect(lab.now() - startedAt, `client ${time}`).to.be.below(1_000);
        await new InterProcessMutex(client, lab.path).withLock(() => undefined, limit);
      }
    });

    it(`and ${way}: an acquire after a reconnect rejects with the server and the operation`, async () => {
      const client = await lab.connect({ sessionTimeoutMs });
      await createParents(client, lab.path);
      lack(lab.proxy, way);
      lab.proxy.cut();
      await lab.sleep(2 * sessionTimeoutMs);
      const error = await rejection(new InterProcessMutex(client, lab.path).acquire(limit));
      expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
      expect(error.message)
        .to.include(lab.proxy.connectString)
        .and.to.include('the request multi')
        .and.to.include(needed);
    });

    it(`and ${way}: the client is told once, dials at most ${mostDialsInAMinute} times in a minute, and keeps its session`, async () => {
      const { warnings, logger } = keepsWarnings();
      const client = await lab.connect({ sessionTimeoutMs, logger });
      const mutex = new InterProcessMutex(client, lab.path);
      await mutex.acquire(limit);
      lack(lab.proxy, way);
      lab.proxy.cut();
      // Until the hold is lost, and another session is there.
      await lab.sleep(3 * sessionTimeoutMs);
      const states = statesOf(client);
      const { sessionId } = client.health();
      expect(await dialsInAMinute(lab.proxy)).to.be.at.most(mostDialsInAMinute);
      expect(client.health()).to.include({ state: client.state, sessionId });
      expect(states).to.not.include('lost');
      expect(warnings.filter((warning) => warning.includes('the request multi. Such'))).to.have.length(1);
    });
  }

  it('an operation that is refused before the connection closes is named, and not a request behind it', async () => {
    const { warnings, logger } = keepsWarnings();
    const client = await lab.connect({ sessionTimeoutMs, logger });
    await createParents(client, lab.path);
    lack(lab.proxy, 'says so and closes the connection', 'sync');
    const mutex = new InterProcessMutex(client, lab.path);
    for (let tries = 0; tries < 5; tries += 1) {
      await mutex.participants().catch(() => undefined);
      await mutex.withLock(() => undefined, { timeoutMs: 1_000 }).catch(() => undefined);
      await lab.sleep(sessionTimeoutMs / 6);
    }
    const told = warnings.filter((warning) => warning.endsWith(needed));
    expect(told).to.have.length(1);
    expect(told[0]).to.include(`${lab.proxy.connectString} does not know the request sync`);
  });

  for (const way of ['says so', 'says so and closes the connection'] as const)
    it(`create2 either, as before 3.5, and ${way}: an acquire rejects at once with the server, the operation and what is needed`, async () => {
      const client = await lab.connect({ sessionTimeoutMs });
      lack(lab.proxy, way, 'create2');
      const startedAt = lab.now();
      // Without a limit, because nothing may wait for a server that will never know the request.
      const error = await rejection(new InterProcessMutex(client, lab.path).acquire());
      expect(lab.now() - startedAt).to.be.below(1_000);
      expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
      expect(error.message)
        .to.include(`The lock ${lab.path} cannot be acquired: UNIMPLEMENTED (-6) from create2 ${lab.path}/`)
        .and.to.include(`${lab.proxy.connectString} does not know the request create2`)
        .and.to.include(needed);
    });
});
