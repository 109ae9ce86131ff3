import { expect } from 'chai';
import {
  AuthFailedError,
  ConnectionTimeoutError,
  InterProcessMutex,
  LockClient,
  type Hold,
  type LockClientOptions,
} from '../../../src/index.ts';
import { digest } from '../../../lab/wire/account.ts';
import { onFreshPorts } from '../../../lab/servers/free-port.ts';
import { answered, sent } from '../../../lab/proxy/frame-matches.ts';
import { startRelay } from '../../../lab/proxy/relay.ts';
import { nameOfServers, Resolver } from '../../../lab/resolver.ts';
import { testPath } from '../../../lab/test-path.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { startProxy, type Frame, type ZkProxy } from '../../../lab/proxy/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';

/** One server with another configuration must not end a session that holds locks, while the other servers are down. */
describe('a client of three servers, one of which refuses its account', function () {
  this.timeout(60_000);
  const password = 'open sesame';
  const options: LockClientOptions = {
    sessionTimeoutMs: 20_000,
    sasl: { mechanism: 'DIGEST-MD5', username: 'alice', password },
    auth: [digest(`alice:${password}`)],
  };
  let server: ZooKeeperServer;
  let proxies: ZkProxy[];
  let refusing: ZkProxy;
  let others: ZkProxy[];

  before(async () => (server = await startServer({ security: { sasl: { alice: password } } })));
  after(() => server.stop());

  beforeEach(async () => {
    proxies = await Promise.all([1, 2, 3].map(() => startProxy(server.port)));
    [refusing, ...others] = proxies as [ZkProxy, ...ZkProxy[]];
  });
  afterEach(() => Promise.all(proxies.map((proxy) => proxy.close())));

  const connectString = (): string => proxies.map((proxy) => proxy.connectString).join(',');
  const refuse = async (down: readonly ZkProxy[]): Promise<void> => {
    await Promise.all(down.map((proxy) => proxy.refuse()));
    for (const proxy of proxies) proxy.cut();
  };

  /** The proxy replaces the answers of a server that has carried the requests out. A close must not be one of them. */
  const isAnswer = ({ from, op }: Frame): boolean =>
    from === 'server' && !['connect', 'sasl', 'auth', 'watch', 'closeSession'].includes(op);

  const endOf = async (client: LockClient): Promise<string | undefined> => {
    let end: string | undefined;
    client.on('background', (event) => {
      if (event.type === 'session-ended') end = event.why;
    });
    await until('the session has ended', () => end !== undefined, 12_000);
    return end;
  };

  for (const [how, isRefused, error] of [
    ['by SASL', answered('sasl'), -115],
    ['by the scheme of `auth`', answered('auth'), -115],
    ['because it requires another account', isAnswer, -124],
  ] as const) {
    const refuseAt = (proxy: ZkProxy): void => {
      proxy.on((frame: Frame) => (isRefused(frame) ? { replaceError: error } : undefined));
    };
    const withHold = async (
      test: (client: LockClient, hold: Hold) => Promise<void>,
      more: LockClientOptions = {},
    ): Promise<void> => {
      const client = await LockClient.connect(connectString(), { ...options, ...more });
      try {
        await test(client, await new InterProcessMutex(client, testPath('refuses')).acquire());
      } finally {
        await client.close({ timeoutMs: 100 });
      }
    };

    it(`${how}, keeps its locks while the others are down, and goes on when one of them is back`, () =>
      withHold(async (client, hold) => {
        refuseAt(refusing);
        refusing.clear();
        await refuse(others);
        await refusing.seen(isRefused, 4);
        expect(hold.isValid).to.equal(true);
        await others[0]?.accept();
        await until(
          'another server is connected',
          () => client.session.isConnected && client.session.connection.server === others[0]?.connectString,
        );
        expect(await hold.release()).to.equal('released');
      }));

    it(`${how}, and logs the outage, the refusal and the end of the outage once each`, async () => {
      const lines: string[] = [];
      const write = (_details: unknown, text: string): void => void lines.push(text);
      await withHold(
        async (client) => {
          const connected = proxies.find((proxy) => proxy.connectString === client.session.connection.server);
          refuseAt(refusing);
          refusing.clear();
          await refuse(others);
          await refusing.seen(isRefused, 6);
          await others[0]?.accept();
          await until('the outage is over', () => lines.some((line) => line.startsWith('Connected')));
          const said = 'the server (refused the|serves only)';
          const texts = [
            `^Connection to ${connected?.connectString} lost: ${connected?.connectString} closed the connection\\. `,
            `^(Connection to ${refusing.connectString} lost|The server ${refusing.connectString} does not .*): ${said}`,
            `^Connected to ${others[0]?.connectString} again after .*: session .* goes on$`,
          ];
          expect(lines).to.have.length(texts.length);
          for (const [index, text] of texts.entries()) expect(lines[index]).to.match(new RegExp(text));
        },
        { logger: { info: write, warn: write } },
      );
    });

    it(`${how}, and logs nothing more while it waits to try again, if all refuse`, async () => {
      const lines: string[] = [];
      const write = (_details: unknown, text: string): void => void lines.push(text);
      await withHold(
        async (client, hold) => {
          for (const proxy of proxies) refuseAt(proxy);
          await refuse([]);
          await aborted(hold.signal);
          const { length } = lines;
          const ids = new Set<bigint>();
          await until('two more sessions were refused', () => ids.add(client.session.id).size > 3, 20_000);
          expect(lines.slice(length)).to.deep.equal([]);
        },
        { logger: { info: write, warn: write } },
      );
    });

    it(`${how}, loses them if all refuse`, () =>
      withHold(async (client, hold) => {
        const ended = endOf(client);
        for (const proxy of proxies) refuseAt(proxy);
        await refuse([]);
        await aborted(hold.signal);
        expect(await ended).to.equal('auth-failed');
      }));

    it(`${how}, gives its session up after a session timeout, because its znodes would block their queues`, async () => {
      await using client = await LockClient.connect(connectString(), { ...options, sessionTimeoutMs: 4_000 });
      await using direct = await startProxy(server.port); // Also for a run over TLS: the server itself has none.
      await using observer = await LockClient.connect(direct.connectString, {
        auth: options.auth ?? [],
        sasl: options.sasl,
      });
      const path = testPath('refuses');
      const hold = await new InterProcessMutex(observer, path).acquire();
      const waiter = new InterProcessMutex(client, path);
      const isQueued = new Promise<void>((resolve) => waiter.once('queued', () => resolve()));
      const waiting = rejection(waiter.acquire());
      await isQueued;
      const theirs = new InterProcessMutex(observer, path);
      const [, znode] = await theirs.participants();
      expect(znode).not.to.equal(undefined);
      const ended = endOf(client);
      refuseAt(refusing);
      await refuse(others);
      expect(await ended).to.equal('auth-failed');
      await until(
        'the znode of the first session is gone',
        async () => !(await theirs.participants()).some(({ path: other }) => other === znode?.path),
      );
      await hold.release();
      await client.close({ timeoutMs: 100 });
      await waiting;
    });

    it(`${how}, keeps its locks too if one name stands for all servers`, () =>
      onFreshPorts(1, async ([port = 0]) => {
        using _resolver = new Resolver('127.0.0.2', '127.0.0.3');
        await using _toRefusing = await startRelay('127.0.0.2', port, refusing.port);
        await using _toOther = await startRelay('127.0.0.3', port, others[0]?.port ?? 0);
        await using client = await LockClient.connect(`${nameOfServers}:${port}`, options);
        const hold = await new InterProcessMutex(client, testPath('refuses')).acquire();
        refuseAt(refusing);
        refusing.clear();
        await refuse(others);
        await refusing.seen(isRefused, 2);
        expect(hold.isValid).to.equal(true);
        const served = others[0]?.seen(answered('multi'));
        await others[0]?.accept();
        await served;
        expect(await hold.release()).to.equal('released');
      }));

    it(`${how}, cannot connect if each address of a name refuses`, () =>
      onFreshPorts(1, async ([port = 0]) => {
        using _resolver = new Resolver('127.0.0.2', '::1', '127.0.0.3');
        await using _first = await startRelay('127.0.0.2', port, refusing.port);
        await using _second = await startRelay('127.0.0.3', port, refusing.port);
        refuseAt(refusing);
        const error = await rejection(LockClient.connect(`${nameOfServers}:${port}`, options));
        expect(error).to.be.instanceOf(AuthFailedError);
      }));

    it(`${how}, dials it with pauses`, () =>
      withHold(async () => {
        refuseAt(refusing);
        refusing.clear();
        const startedAt = performance.now();
        await refuse(others);
        await refusing.seen(sent('connect'), 5);
        // None before the first round, then at least 25, 50 and 100 ms.
        expect(performance.now() - startedAt).to.be.at.least(170);
      }));

    it(`${how}, cannot connect while the others are down, and says why for each`, async () => {
      refuseAt(refusing);
      await refuse(others);
      const error = await rejection(LockClient.connect(connectString(), { ...options, connectionTimeoutMs: 5_000 }));
      expect(error).to.be.instanceOf(ConnectionTimeoutError);
      expect(error.message).to.contain(`${refusing.connectString}: the server `).and.contain('ECONNREFUSED');
      expect(error.message).not.to.contain(password);
    });
  }

  it('that refuses a transaction has not done it: the next server gets it', async () => {
    await using client = await LockClient.connect(connectString(), options);
    const hold = await new InterProcessMutex(client, testPath('refuses')).acquire();
    const connected = proxies.find((proxy) => proxy.connectString === client.session.connection.server);
    connected?.on((frame: Frame) => (answered('multi')(frame) ? { replaceError: -124 } : undefined));
    await hold.transaction().check(hold.path).commit();
    expect(client.session.connection.server).not.to.equal(connected?.connectString);
    expect(await hold.release()).to.equal('released');
  });

  it('that refuses a ping has refused the account', async () => {
    await using client = await LockClient.connect(refusing.connectString, { ...options, sessionTimeoutMs: 2_000 });
    const ended = endOf(client);
    refusing.on(({ from, op }: Frame) => (from === 'server' && op === 'ping' ? { replaceError: -124 } : undefined));
    expect(await ended).to.equal('auth-failed');
  });
});
