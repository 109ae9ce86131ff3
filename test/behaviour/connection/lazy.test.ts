import { expect } from 'chai';
import {
  AuthFailedError,
  ClientClosedError,
  InterProcessMutex,
  LockClient,
  LockTimeoutError,
  type ConnectStringSource,
  type LazyClientOptions,
} from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { startProxy } from '../../../lab/proxy/zk-proxy.ts';
import { startServer } from '../../../lab/servers/zookeeper-server.ts';
import { rejection, until } from '../../../lab/until.ts';

describe('LockClient.create', function () {
  // The limit is virtual time.
  this.timeout(600_000);
  const lab = labOfEachTest('lazy', { server: 'own', proxy: true, client: 'none' });
  let clients: LockClient[];
  let warnings: string[];

  beforeEach(() => void ((clients = []), (warnings = [])));
  afterEach(() => Promise.all(clients.map((client) => client.close({ timeoutMs: 500 }))));

  const create = (options?: LazyClientOptions, servers: ConnectStringSource = lab.proxy.connectString): LockClient => {
    const client = LockClient.create(servers, { sessionTimeoutMs: 4_000, ...options });
    clients.push(client);
    client.on('background', (event) => event.type === 'warning' && warnings.push(event.message));
    return client;
  };

  it('gives a client at once, whose first acquire waits for the first connection', async () => {
    await lab.proxy.refuse();
    const client = create();
    expect([client.state, client.health().sessionId, client.health().held]).to.deep.equal(['suspended', undefined, 0]);
    expect(client.health().lastError).to.have.property('message', 'no server has been reached yet');
    const states: string[] = [];
    client.on('state', (state) => states.push(state));
    const acquiring = client.lock(lab.path, { timeoutMs: 20_000 });
    const asking = new InterProcessMutex(client, lab.path).participants({ timeoutMs: 20_000 });
    await lab.sleep(6_000);
    expect(client.health()).to.include({ waiting: 1, remainingMs: 0 });
    await lab.proxy.accept();
    await using hold = await acquiring;
    expect([hold.isValid, states]).to.deep.equal([true, ['connected']]);
    expect(await asking).to.have.length.at.most(1);
  });

  it('says once after some seconds that no server answers, and when one does', async () => {
    await lab.proxy.refuse();
    const lines: string[] = [];
    const client = create({ logger: { warn: (_, line) => lines.push(line) } });
    await lab.sleep(2_500);
    expect(warnings).to.deep.equal([]);
    await lab.sleep(60_000);
    expect(warnings).to.have.length(1);
    expect(warnings[0])
      .to.match(/^No ZooKeeper server of 127.*:\d+ has answered for 3\.0 s; last: .*ECONNREFUSED/)
      .and.to.match(/\. The client goes on$/);
    expect(lines).to.deep.equal(warnings);
    await lab.proxy.accept();
    await until('connected', () => client.state === 'connected');
  });

  it('says nothing if a server answers in time, or the client closes before', async () => {
    const client = create();
    await until('connected', () => client.state === 'connected');
    await lab.proxy.refuse();
    const closed = create();
    await closed.close();
    await lab.sleep(10_000);
    expect(warnings.filter((line) => line.startsWith('No ZooKeeper'))).to.deep.equal([]);
  });

  it('lets an acquire time out by its own deadline, with the time of the silence', async () => {
    await lab.proxy.refuse();
    const client = create();
    await lab.sleep(1_000);
    const error = await rejection(client.lock(lab.path, { timeoutMs: 2_000 }));
    expect(error).to.be.instanceOf(LockTimeoutError).and.to.include({ reason: 'no-answer' });
    expect(error.message).to.match(/3\.0 s/);
    expect(await new InterProcessMutex(client, lab.path).tryAcquire()).to.equal(undefined);
  });

  it('ends everything when it is closed before the first connection', async () => {
    for (const newcomers of ['refused', 'silent'] as const) {
      await lab.proxy.admit(newcomers);
      const client = create();
      const mutex = new InterProcessMutex(client, lab.path);
      const calls = [mutex.acquire(), mutex.participants(), client.withLock([lab.path], () => undefined)].map(
        rejection,
      );
      await lab.sleep(1_000);
      const startedAt = lab.now();
      await client.close();
      expect(lab.now() - startedAt).to.be.below(100);
      for (const error of await Promise.all(calls)) expect(error).to.be.instanceOf(ClientClosedError);
      const { dials } = lab.proxy;
      await lab.sleep(30_000);
      expect([lab.proxy.dials, client.state]).to.deep.equal([dials, 'closed']);
    }
    await lab.proxy.admit('served');
  });

  it('settles the first acquire when replies are lost, and when the session ends before it has the lock', async () => {
    const lost = ['connect', 'create2', 'multi'] as const;
    for (const op of lost) {
      const stop = lab.proxy.on((frame) => (frame.from === 'server' && frame.op === op ? (stop(), 'cut') : undefined));
      await using hold = await create().lock(`${lab.path}-${op}`, { timeoutMs: 30_000 });
      expect(hold.isValid).to.equal(true);
    }
    const client = create();
    await using other = await create().lock(lab.path);
    const waiting = client.lock(lab.path, { timeoutMs: 60_000 });
    await lab.queueReaches(2);
    await lab.endSession(client);
    await other.release();
    await using hold = await waiting;
    expect(hold.isValid).to.equal(true);
  });

  it('tells the acquires that wait that the servers refuse its account, and goes on', async () => {
    const client = create({ auth: [{ scheme: 'nonsense', credentials: 'somebody:secret' }] });
    for (const delayMs of [0, 100, 5_000]) {
      await lab.sleep(delayMs);
      const error = await rejection(client.lock(lab.path, { timeoutMs: 60_000 }));
      expect(error).to.be.instanceOf(AuthFailedError);
      expect(error.message).to.contain('scheme "nonsense"').and.not.to.contain('secret');
    }
    expect(client.state).not.to.equal('closed');
    expect(warnings.filter((line) => line.includes('nonsense'))).to.have.length(1);
    await client.close();
  });

  it('tells them so by SASL, and connects when the servers have the account', async () => {
    await using server = await startServer({ security: { sasl: { alice: 'another' } } });
    await using changed = await startServer({ security: { sasl: { alice: 'secret' } } });
    await using proxy = await startProxy(server.port);
    const sasl = { mechanism: 'DIGEST-MD5', username: 'alice', password: 'secret' } as const;
    const client = create({ sasl }, proxy.connectString);
    for (const delayMs of [0, 200, 30_000]) {
      await lab.sleep(delayMs);
      expect(await rejection(client.lock(lab.path, { timeoutMs: 120_000 }))).to.be.instanceOf(AuthFailedError);
    }
    proxy.retarget(changed.port);
    // The pause after a refusal is a minute at most.
    await lab.sleep(61_000);
    expect((await client.lock(lab.path, { timeoutMs: 10_000 })).isValid).to.equal(true);
    // From now on, a refusal is an outage, which may pass.
    proxy.retarget(server.port);
    proxy.cut();
    const late = rejection(client.lock(lab.path, { timeoutMs: 120_000 }));
    expect(await late).to.be.instanceOf(LockTimeoutError);
    await client.close();
  });

  it('throws at once for a wrong option or connect string', () => {
    const creating =
      (options: unknown, servers: unknown = 'zk1'): (() => unknown) =>
      () =>
        create(options as LazyClientOptions, servers as string);
    expect(creating({ sessionTimeoutMs: 0 })).to.throw(RangeError, 'sessionTimeoutMs');
    expect(creating({ connectionTimeoutMs: 10 })).to.throw(
      TypeError,
      'Unknown option `connectionTimeoutMs` of LockClient.create: accepted are sessionTimeoutMs, retryPolicy,',
    );
    expect(creating({ signal: new AbortController().signal })).to.throw(TypeError, '`signal` of LockClient.create');
    expect(creating({}, '')).to.throw(TypeError, 'it names no host');
    expect(creating({}, 7)).to.throw(TypeError, 'or a function that returns that, got 7');
    expect(creating({}, () => '')).to.throw(TypeError, 'the result of `connectString()`');
    const failure = new Error('no file');
    expect(
      creating({}, () => {
        throw failure;
      }),
    ).to.throw(failure);
  });

  it('learns its servers and its chroot from a function that answers later, after failures', async () => {
    const { connectString } = lab.proxy;
    let calls = 0;
    const client = create({}, async () => {
      calls += 1;
      await lab.sleep(500);
      if (calls < 2) throw new Error('the registry is down');
      return `${connectString}${lab.path}`;
    });
    await using hold = await client.lock('/late', { timeoutMs: 20_000 });
    expect(await lab.observer.children(`${lab.path}/late`)).to.have.length(1);
    expect(hold.path).to.match(/^\/late\//);
    expect(warnings).to.deep.equal([
      'The client has no servers yet, because the result of `connectString()` cannot be used',
    ]);
    expect(JSON.parse(JSON.stringify(client))).to.include({ hosts: connectString, chroot: lab.path });
  });

  it('says which trouble its function has', async () => {
    create({}, () => Promise.reject(new Error('the registry is down')));
    await lab.sleep(20_000);
    expect(warnings).to.deep.equal([
      'The client has no servers yet, because the result of `connectString()` cannot be used',
      'No ZooKeeper server has answered for 3.0 s; last: the registry is down. The client goes on',
    ]);
  });

  it('closes while its function has not named any servers', async () => {
    const client = create({}, () => new Promise<string>(() => undefined));
    const waiting = rejection(client.lock(lab.path));
    await lab.sleep(15_000);
    expect(warnings).to.have.length(2);
    expect(warnings[0]).to.equal(
      'No ZooKeeper server has answered for 3.0 s; last: `connectString()` has not settled yet. The client goes on',
    );
    await client.close();
    expect(await waiting).to.be.instanceOf(ClientClosedError);
  });
});
