import { expect } from 'chai';
import {
  AuthFailedError,
  ConnectionTimeoutError,
  InterProcessMutex,
  LockClient,
  type LockClientOptions,
} from '../../src/index.ts';
import { kerberos, type KerberosAccount } from '../../packages/kerberos/src/index.ts';
import { account, permission } from '../../lab/wire/account.ts';
import { answered, sent } from '../../lab/proxy/frame-matches.ts';
import { KerberosRealm } from '../../lab/servers/kerberos-realm.ts';
import { reached } from '../../lab/reached.ts';
import { testPath } from '../../lab/test-path.ts';
import { clientTls } from '../../lab/servers/tls-keys.ts';
import { rejection, until } from '../../lab/until.ts';
import { startProxy, type ZkProxy } from '../../lab/proxy/zk-proxy.ts';
import { startRealServer, type ServerOptions, type ZooKeeperServer } from '../../lab/servers/zookeeper-server.ts';

const service = 'zookeeper/127.0.0.1';
const gssapi = async (account: KerberosAccount = {}): Promise<LockClientOptions> => ({ sasl: await kerberos(account) });

describe('authentication by Kerberos', function () {
  this.timeout(90_000);
  let realm: KerberosRealm;
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let serverKeytab: string;
  const keytabs = { alice: '', bob: '' };

  const start = (options: Partial<ServerOptions> = {}): Promise<ZooKeeperServer> => {
    const kerberos = {
      principal: `${service}@${KerberosRealm.realm}`,
      keytab: serverKeytab,
      configFile: realm.configFile,
    };
    return startRealServer({ security: { kerberos, requiresSasl: true, tls: 'same-port' }, ...options });
  };

  before(async () => {
    realm = await KerberosRealm.start();
    for (const principal of [service, 'zookeeper/other', 'alice', 'bob', 'carol/host.internal'])
      await realm.addPrincipal(principal);
    serverKeytab = await realm.keytab(service);
    keytabs.alice = await realm.keytab('alice');
    keytabs.bob = await realm.keytab('bob');
    process.env['KRB5_CONFIG'] = realm.configFile;
    server = await start();
  });
  after(async () => {
    for (const name of ['KRB5_CONFIG', 'KRB5CCNAME', 'KRB5_CLIENT_KTNAME']) Reflect.deleteProperty(process.env, name);
    await server.stop();
    await realm.stop();
  });

  beforeEach(async () => {
    process.env['KRB5CCNAME'] = await realm.login('alice', keytabs.alice);
    delete process.env['KRB5_CLIENT_KTNAME'];
    proxy = await startProxy(server.port);
  });
  afterEach(() => proxy.close());

  const opsOf = (connection: number): string[] =>
    proxy.frames.filter((frame) => frame.from === 'client' && frame.connection === connection).map(({ op }) => op);
  const connects = (): number => proxy.frames.filter(sent('connect')).length;
  const refusal = async (options: LockClientOptions, connectString = proxy.connectString): Promise<Error> => {
    const error = await rejection(LockClient.connect(connectString, options));
    expect(error).to.be.instanceOf(AuthFailedError).with.property('code', 'ERR_LOCK_AUTH_FAILED');
    expect(error.message).to.contain(connectString);
    return error;
  };

  it('makes the principal of the ticket the owner of its znodes', async () => {
    await using alice = await account(proxy.connectString, { ...(await gssapi()), acl: 'creator-only' });
    const hold = await new InterProcessMutex(alice.client, testPath('kerberos')).acquire();
    expect(await alice.acl(hold.path)).to.deep.equal([
      { permissions: permission.all, scheme: 'sasl', id: 'alice@LOCK.TEST' },
    ]);
    process.env['KRB5CCNAME'] = await realm.login('bob', keytabs.bob);
    await using bob = await account(proxy.connectString, await gssapi());
    expect((await rejection(bob.read(hold.path))).message).to.contain('NO_AUTH');
    expect(await hold.release()).to.equal('released');
  });

  it('lets two principals share a lock by an ACL with their ids', async () => {
    const acl = ['alice', 'bob'].map((name) => ({ permissions: 31, scheme: 'sasl', id: `${name}@LOCK.TEST` }));
    const path = testPath('kerberos');
    await using alice = await account(proxy.connectString, { ...(await gssapi()), acl });
    process.env['KRB5CCNAME'] = await realm.login('bob', keytabs.bob);
    await using bob = await account(proxy.connectString, { ...(await gssapi()), acl });
    const hold = await new InterProcessMutex(alice.client, path).acquire();
    const waiting = new InterProcessMutex(bob.client, path).acquire();
    await until('bob waits', async () => (await alice.children(path)).length === 2);
    await hold.release();
    expect(await (await waiting).release()).to.equal('released');
  });

  it('comes before everything else on each connection, and needs no KDC when the session attaches anew', async () => {
    await using client = await LockClient.connect(proxy.connectString, { ...(await gssapi()), acl: 'creator-only' });
    const hold = await new InterProcessMutex(client, testPath('kerberos')).acquire();
    await realm.killKdc();
    try {
      const again = reached(client, 'reconnected');
      proxy.cut();
      await again;
      await client.session.attach();
      expect(await hold.release()).to.equal('released');
    } finally {
      await realm.startKdc();
    }
    const connections = new Set(proxy.frames.map(({ connection }) => connection));
    expect(connections.size).to.equal(3);
    for (const connection of connections) {
      expect(opsOf(connection).slice(0, 4)).to.deep.equal(['connect', 'sasl', 'sasl', 'sasl']);
      expect(opsOf(connection).filter((op) => op === 'sasl')).to.have.length(3);
    }
  });

  it('works over TLS, and with a keytab in place of a login', async () => {
    process.env['KRB5CCNAME'] = realm.newFile('cache');
    process.env['KRB5_CLIENT_KTNAME'] = keytabs.bob;
    await using bob = await account(server.secureConnectString, {
      ...(await gssapi({ servicePrincipal: service, principal: 'bob@LOCK.TEST' })),
      tls: clientTls(),
      acl: 'creator-only',
    });
    const hold = await new InterProcessMutex(bob.client, testPath('kerberos')).acquire();
    expect((await bob.acl(hold.path)).map(({ id }) => id)).to.include('bob@LOCK.TEST');
    await hold.release();
  });

  it('has the id without host and realm only if the servers remove them', async () => {
    const keytab = await realm.keytab('carol/host.internal');
    process.env['KRB5CCNAME'] = await realm.login('carol/host.internal', keytab);
    const removed = ['Host', 'Realm'].map((part) => `-Dzookeeper.kerberos.remove${part}FromPrincipal=true`);
    await using other = await start({ javaOptions: removed });
    for (const [{ connectString }, id] of [
      [server, 'carol/host.internal@LOCK.TEST'],
      [other, 'carol'],
    ] as const) {
      await using carol = await account(connectString, { ...(await gssapi()), acl: 'creator-only' });
      const hold = await new InterProcessMutex(carol.client, testPath('kerberos')).acquire();
      expect((await carol.acl(hold.path)).map((entry) => entry.id)).to.deep.equal([id]);
      await hold.release();
    }
  });

  for (const [fault, options, says] of [
    ['an unknown principal', { principal: 'zoe' }, "Can't find client principal zoe@LOCK.TEST"],
    [
      'a service that Kerberos does not know',
      { servicePrincipal: 'zookeeper/nowhere' },
      'not found in Kerberos database',
    ],
    [
      'the service of another server',
      { servicePrincipal: 'zookeeper/other' },
      'refused the Kerberos ticket for zookeeper/other',
    ],
  ] as const)
    it(`with ${fault} fails at once with an AuthFailedError, after one connection`, async () => {
      expect((await refusal(await gssapi(options))).message).to.contain(says);
      expect(connects()).to.equal(1);
    });

  it('without a ticket fails at once with an AuthFailedError that says what to check', async () => {
    process.env['KRB5CCNAME'] = realm.newFile('cache');
    const { message } = await refusal(await gssapi());
    expect(message)
      .to.match(/^This client cannot authenticate to the servers /)
      .and.contain(`no ticket for ${service}: `)
      .and.contain('No Kerberos credentials available')
      .and.contain('klist');
    expect(connects()).to.equal(1);
  });

  it('with an expired ticket fails at once with an AuthFailedError, unless Kerberos has a keytab', async () => {
    const cache = await realm.login('alice', keytabs.alice, 1);
    await until('the login has expired', async () => !(await realm.givesTicket(cache, 'zookeeper/other')), 30_000);
    process.env['KRB5CCNAME'] = cache;
    expect((await refusal(await gssapi())).message).to.match(/no ticket for .*expired/i);
    expect(connects()).to.equal(1);
    process.env['KRB5_CLIENT_KTNAME'] = keytabs.alice;
    await using client = await LockClient.connect(proxy.connectString, await gssapi());
    expect(client.state).to.equal('connected');
  });

  it('is not accepted from a server that cannot prove that it is the service', async () => {
    proxy.on((frame) => {
      if (!answered('sasl')(frame)) return undefined;
      const token = Buffer.from(frame.body.subarray(20));
      token.writeUInt8(token.readUInt8(token.length - 1) ^ 1, token.length - 1);
      const length = Buffer.alloc(4);
      length.writeInt32BE(frame.body.length);
      return { replaceWith: Buffer.concat([length, frame.body.subarray(0, 20), token]) };
    });
    expect((await refusal(await gssapi())).message).to.contain(`the server could not prove that it is ${service}: `);
  });

  it('names the KDC that cannot be reached, and goes on until connectionTimeoutMs', async () => {
    await realm.killKdc();
    try {
      const error = await rejection(
        LockClient.connect(proxy.connectString, { ...(await gssapi()), connectionTimeoutMs: 2_000 }),
      );
      expect(error).to.be.instanceOf(ConnectionTimeoutError);
      expect(error.message).to.contain(`no ticket for ${service}: Cannot contact any KDC`);
      expect(connects()).to.be.above(1);
    } finally {
      await realm.startKdc();
    }
  });

  it('has the time of the attempt: a KDC that does not answer delays only its own thread', async () => {
    realm.pauseKdc();
    const connecting = LockClient.connect(proxy.connectString, { ...(await gssapi()), sessionTimeoutMs: 4_000 });
    try {
      await proxy.seen(sent('connect'), 3);
    } finally {
      realm.resumeKdc();
    }
    await using client = await connecting;
    expect(proxy.frames.filter(sent('sasl')).every(({ connection }) => connection >= 3)).to.equal(true);
    expect(client.session.epoch).to.equal(1);
  });

  it('keeps the session without a ticket, and goes on when there is one', async () => {
    await using client = await LockClient.connect(proxy.connectString, {
      ...(await gssapi()),
      sessionTimeoutMs: 40_000,
    });
    const hold = await new InterProcessMutex(client, testPath('kerberos')).acquire();
    const cache = process.env['KRB5CCNAME'];
    process.env['KRB5CCNAME'] = realm.newFile('cache');
    const again = reached(client, 'reconnected');
    proxy.cut();
    await proxy.seen(sent('connect'), connects() + 2);
    process.env['KRB5CCNAME'] = cache;
    await again;
    expect(hold.isValid).to.equal(true);
    expect(await hold.release()).to.equal('released');
  });

  it('is refused by a server whose accounts are those of DIGEST-MD5', async () => {
    await using other = await startRealServer({ security: { sasl: { alice: 'open sesame' } } });
    const error = await refusal(await gssapi(), other.connectString);

    expect(error.message).to.contain('its answer is no message of Kerberos').and.contain('Krb5LoginModule');
  });

  it('is refused by a server without SASL', async () => {
    await using other = await startRealServer();
    expect((await refusal(await gssapi(), other.connectString)).message).to.contain('the server has no SASL');
  });

  it('is what a server of Kerberos wants: it refuses a user name and a password', async () => {
    const sasl = { mechanism: 'DIGEST-MD5', username: 'alice', password: 'open sesame' } as const;
    expect((await refusal({ sasl })).message).to.contain('the server refused the user name or the password');
  });
});
