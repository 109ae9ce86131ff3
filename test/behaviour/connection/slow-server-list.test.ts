import { expect } from 'chai';
import { InterProcessMultiLock, InterProcessMutex, LockClient } from '../../../src/index.ts';
import type { ConnectStringSource, Hold, LazyClientOptions } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { startProxy, type ZkProxy } from '../../../lab/proxy/zk-proxy.ts';
import { Resolver } from '../../../lab/resolver.ts';
import { startServer } from '../../../lab/servers/zookeeper-server.ts';
import { rejection, until } from '../../../lab/until.ts';
import { messageMs, virtualMachine } from '../../../lab/world.ts';

/** Packets to another machine arrive nowhere in the virtual network. */
const dead = '10.255.255.1';
const neverSettles = (): Promise<string> => new Promise(() => undefined);

describe('a function that names the servers late, or when connecting goes wrong', () => {
  const lab = labOfEachTest('slow-server-list', { server: 'own', proxy: true, client: 'none' });
  let clients: LockClient[];

  beforeEach(() => void (clients = []));
  afterEach(() => Promise.all(clients.map((client) => client.close({ timeoutMs: 500 }))));

  const create = (servers: ConnectStringSource, options: LazyClientOptions = {}): LockClient => {
    const client = LockClient.create(servers, { sessionTimeoutMs: 4_000, ...options });
    clients.push(client);
    return client;
  };
  const connect = async (...args: Parameters<typeof LockClient.connect>): Promise<LockClient> => {
    const client = await LockClient.connect(...args);
    clients.push(client);
    return client;
  };

  it('takes as long as `connectionTimeoutMs` allows', async () => {
    const startedAt = lab.now();
    const error = await rejection(LockClient.connect(neverSettles));
    expect(error).to.have.property('code', 'ERR_LOCK_CONNECTION_TIMEOUT');
    expect(error.message).to.include('last: `connectString()` has not settled for 10000 ms');
    expect(lab.now() - startedAt).to.be.closeTo(15_000, 10);
    await connect(() => lab.sleep(12_000).then(() => lab.connectString), { connectionTimeoutMs: 60_000 });
    expect(lab.now() - startedAt).to.be.closeTo(27_000, 100);
  });

  it('counts although a later call was made meanwhile', async () => {
    const startedAt = lab.now();
    const client = create(() => lab.sleep(12_000).then(() => lab.connectString));
    await (await client.lock(lab.path, { timeoutMs: 300_000 })).release();
    expect(lab.now() - startedAt).to.be.below(13_000);
  });

  it('is not called by a connect whose signal has aborted', async () => {
    let calls = 0;
    const reason = new Error('never mind');
    const servers = (): string => ((calls += 1), lab.connectString);
    expect(await rejection(LockClient.connect(servers, { signal: AbortSignal.abort(reason) }))).to.equal(reason);
    expect(calls).to.equal(0);
  });

  it('is not called while its last call has not settled, although an earlier call settles late', async () => {
    let calls = 0;
    create(() => ((calls += 1) === 1 ? lab.sleep(12_000).then(() => `${dead}:2181`) : neverSettles()));
    await lab.sleep(19_000);
    expect(calls).to.equal(2);
  });

  it('has the next server dialled in good time if the first one says nothing after its grant', async () => {
    await using first = await startProxy(lab.server.port);
    await using second = await startProxy(lab.server.port);
    let silent: ZkProxy | undefined;
    for (const proxy of [first, second])
      proxy.on((frame) => {
        if (frame.from === 'server' && frame.op === 'connect') silent ??= proxy;
        return frame.from === 'server' && frame.op !== 'connect' && proxy === silent ? 'drop' : undefined;
      });
    const list = `${first.connectString},${second.connectString}`;
    await connect(() => Promise.resolve(list), { sessionTimeoutMs: 30_000 });
  });

  it('ends an attempt to a server that has left the list', async () => {
    await using moved = await startProxy(lab.server.port);
    let list = lab.proxy.connectString;
    let answerMs = 300;
    let knownAt = 0;
    const client = await connect(
      () =>
        lab.sleep(answerMs).then(() => {
          if (list === moved.connectString) knownAt ||= lab.now();
          return list;
        }),
      { sessionTimeoutMs: 30_000 },
    );
    const hold = await client.lock(lab.path);
    await lab.proxy.admit('silent');
    lab.proxy.cut();
    answerMs = 1_500;
    list = moved.connectString;
    await until('the connection is back', () => client.state === 'reconnected');
    expect(lab.now() - knownAt).to.be.below(200);
    expect(hold.isValid).to.equal(true);
    await hold.release();
    await lab.proxy.admit('served');
  });

  describe('and a host that is gone', () => {
    let list: () => string | Promise<string>;
    let client: LockClient;
    let hold: Hold;
    let servers: ZkProxy;
    let moved: ZkProxy;

    beforeEach(async () => {
      servers = await startProxy(lab.server.port);
      moved = await startProxy(lab.server.port);
      list = () => servers.connectString;
      client = await connect(() => list(), { sessionTimeoutMs: 30_000 });
      hold = await client.lock(lab.path);
    });
    afterEach(async () => {
      await client.close();
      await Promise.all([servers, moved].map((proxy) => proxy.close()));
    });
    const outage = async (name: string): Promise<void> => {
      list = () => name;
      await servers.admit('refused');
      servers.cut();
    };
    const reconnectsWithin = async (ms: number): Promise<void> => {
      const startedAt = lab.now();
      await until('the connection is back', () => client.state === 'reconnected');
      expect(lab.now() - startedAt).to.be.below(ms);
      expect(await hold.release()).to.equal('released');
    };

    it('is asked again while the lookup of the only host hangs', async () => {
      using resolver = new Resolver().set('hanging.test', 'hangs');
      await outage('hanging.test');
      await until('the name is looked up', () => resolver.hanging.length > 0);
      list = () => moved.connectString;
      await reconnectsWithin(3_000);
    });

    it('has its new list dialled at once if it comes during the lookup of a host that it does not name', async () => {
      using resolver = new Resolver().set('slow.test', [dead]);
      resolver.takesMs = 200;
      await outage('slow.test');
      await until('the name is looked up', () => resolver.begun > 0);
      list = () => until('it is looked up again', () => resolver.begun > 1).then(() => moved.connectString);
      await until('it is looked up again', () => resolver.begun > 1);
      await reconnectsWithin(400);
    });

    it('is asked again after each round over a new list, and has another one dialled without a pause', async () => {
      using resolver = new Resolver().set('dead.test', [dead]);
      await outage('dead.test');
      await until('the name is looked up', () => resolver.begun > 0);
      list = () => moved.connectString;
      // The attempt takes 1,250 ms. A real machine may say at once that it has no route, and dials in rounds.
      await reconnectsWithin((virtualMachine ? 1_300 : 3_000) + 20 * messageMs.most);
    });
  });

  it('is asked again while all servers refuse the account', async () => {
    await using wrong = await startServer({ security: { sasl: { alice: 'another' } } });
    await using right = await startServer({ security: { sasl: { alice: 'secret' } } });
    const sasl = { mechanism: 'DIGEST-MD5', username: 'alice', password: 'secret' } as const;
    let list = wrong.connectString;
    const client = create(() => list, { sasl });
    await lab.sleep(5_000);
    list = right.connectString;
    await until('the client is connected', () => client.state === 'connected');
  });

  it('is asked again while a server grants the session and ends each connection at the next request', async () => {
    await using moved = await startProxy(lab.server.port);
    let list = lab.proxy.connectString;
    const client = await connect(() => list, { sessionTimeoutMs: 4_000 });
    lab.proxy.on((frame) => (frame.from === 'client' && frame.op !== 'connect' ? 'cut' : undefined));
    lab.proxy.cut();
    list = moved.connectString;
    await (await client.lock(lab.path, { timeoutMs: 50_000 })).release();
  });

  it('is not named by the message of a slow connect if it was learned just then', async () => {
    const lines: string[] = [];
    await lab.proxy.refuse();
    await using moved = await startProxy(lab.server.port);
    await moved.admit('silent');
    let isFirst = true;
    const learned = lab.sleep(2_950).then(() => moved.connectString);
    const list = (): string | Promise<string> => {
      if (!isFirst) return learned;
      isFirst = false;
      return lab.proxy.connectString;
    };
    await rejection(
      LockClient.connect(list, {
        connectionTimeoutMs: 6_000,
        logger: { warn: (_: unknown, text: string) => void lines.push(text) },
      }),
    );
    expect(lines.find((line) => line.includes('for 3.0 s'))).to.match(
      /^No ZooKeeper server has answered for .*ECONNREFUSED/,
    );
  });

  it('gives its own trouble to a timeout', async () => {
    const pending = create(neverSettles);
    const timeout = await rejection(pending.lock(lab.path, { timeoutMs: 500 }));
    expect(timeout.message).to.include('`connectString()` has not settled yet');
    const failing = create(() => Promise.reject(new Error('registry down')));
    const failed = await rejection(failing.lock(lab.path, { timeoutMs: 500 }));
    expect(failed.message).to.include('registry down');
    expect(failing.health().lastError?.message).to.equal('registry down');
  });

  it('lets a multi-lock of two locks with one path say that their order is not known yet', async () => {
    await using other = await startServer();
    const [here, there] = [lab.connectString, other.connectString].map((list) =>
      create(() => lab.sleep(100).then(() => list)),
    ) as [LockClient, LockClient];
    const both = new InterProcessMultiLock([here, there].map((client) => new InterProcessMutex(client, lab.path)));
    const error = await rejection(both.acquire());
    expect(error).to.be.instanceOf(RangeError);
    expect(error.message).to.include('use LockClient.connect').and.to.include(lab.path);
    await lab.sleep(1_000);
    await (await both.acquire({ timeoutMs: 5_000 })).release();
  });
});
