import { expect } from 'chai';
import { AuthFailedError, InterProcessMutex, LockClient, type LockClientOptions } from '../../../src/index.ts';
import { answered, sent } from '../../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { reached } from '../../../lab/reached.ts';
import { needs } from '../../../lab/skip-without.ts';
import { clientTls } from '../../../lab/servers/tls-keys.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection, until } from '../../../lab/until.ts';
import { account, digest, permission } from '../../../lab/wire/account.ts';
import { withToken } from '../../../lab/proxy/zk-frame.ts';
import { startRealServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';

const users = { alice: 'open sesame', bob: 'pass€wört "quoted"' };
const sasl = (username: string, password: string): LockClientOptions => ({
  sasl: { mechanism: 'DIGEST-MD5', username, password },
});
const alice = sasl('alice', users.alice);

describe('authentication by SASL', () => {
  const lab = labOfEachTest('sasl', {
    server: { security: { sasl: users, tls: 'same-port' } },
    proxy: true,
    client: 'none',
  });

  const opsOf = (connection: number): string[] =>
    lab.proxy.frames.filter((frame) => frame.from === 'client' && frame.connection === connection).map(({ op }) => op);

  for (const username of ['alice', 'bob'] as const)
    it(`makes ${username} the owner of its znodes`, async () => {
      await using mine = await account(lab.proxy.connectString, {
        ...sasl(username, users[username]),
        acl: 'creator-only',
      });
      const hold = await new InterProcessMutex(mine.client, lab.path).acquire();
      expect(await mine.acl(hold.path)).to.deep.equal([{ permissions: permission.all, scheme: 'sasl', id: username }]);
      expect(await hold.release()).to.equal('released');
    });

  it('comes before everything else on each connection, also when the session attaches anew', async () => {
    const client = await lab.connect({ ...alice, auth: [digest('carol:x')], acl: 'creator-only' });
    const mutex = new InterProcessMutex(client, lab.path);
    const hold = await mutex.acquire();
    const waiting = new InterProcessMutex(await lab.connect({ ...alice, acl: 'creator-only' }), lab.path).acquire();
    await until('the waiter is queued', async () => (await mutex.participants()).length === 2);
    const again = reached(client, 'reconnected');
    lab.proxy.cut();
    await again;
    await client.session.attach();
    await hold.release();
    await (await waiting).release();
    const connections = new Set(lab.proxy.frames.map(({ connection }) => connection));
    expect(connections.size).to.be.at.least(5);
    for (const connection of connections) {
      const ops = opsOf(connection);
      expect(ops.slice(0, 3)).to.deep.equal(['connect', 'sasl', 'sasl']);
      expect(ops.filter((op) => op === 'sasl')).to.have.length(2);
    }
    expect(lab.proxy.frames.filter((frame) => frame.err === -102)).to.deep.equal([]);
  });

  it('works over TLS', async function () {
    needs(this, 'client.portUnification');
    const client = await lab.connect({ ...alice, tls: clientTls() }, lab.server.secureConnectString);
    await new InterProcessMutex(client, lab.path).withLock((hold) => expect(hold.isValid).to.equal(true));
  });

  for (const [fault, options] of [
    ['a wrong password', sasl('alice', 'open barley')],
    // Another password than that of a user: for an unknown user, ZooKeeper 3.8.0 takes the password of the last user.
    ['an unknown user', sasl('zoe', 'open barley')],
  ] as const)
    it(`with ${fault} fails at once with an AuthFailedError, after one connection`, async function () {
      needs(this, 'refusals of SASL');
      const error = await rejection(LockClient.connect(lab.proxy.connectString, options));
      expect(error).to.be.instanceOf(AuthFailedError).with.property('code', 'ERR_LOCK_AUTH_FAILED');
      expect(error.message)
        .to.contain(lab.proxy.connectString)
        .and.contain('the user name or the password of the option `sasl`');
      expect(error.message).not.to.contain('open');
      expect(lab.proxy.frames.filter(sent('connect'))).to.have.length(1);
    });

  it('says so where a server closes the connection instead of refusing the account, as ZooKeeper 3.5 does', async () => {
    // The answer to a wrong password is an error on later servers.
    lab.proxy.on((frame) => (answered('sasl')(frame) && frame.err !== 0 ? 'cut' : undefined));
    const connecting = LockClient.connect(lab.proxy.connectString, {
      ...sasl('alice', 'open barley'),
      connectionTimeoutMs: 2_000,
    });
    const { message } = await rejection(connecting);
    expect(message).to.contain(`${lab.proxy.connectString} closed the connection during the authentication by SASL`);
    expect(message).to.contain('the password of the option `sasl` is wrong').and.not.contain('barley');
  });

  it('has the time of the attempt: a server that answers no token is left for the next one', async () => {
    let silent = 1;
    lab.proxy.on((frame) => (answered('sasl')(frame) && silent-- > 0 ? 'drop' : undefined));
    const client = await lab.connect({ ...alice, sessionTimeoutMs: 24_000 });
    expect(opsOf(1)).to.deep.equal(['connect', 'sasl']);
    expect(opsOf(2).slice(0, 3)).to.deep.equal(['connect', 'sasl', 'sasl']);
    expect(client.session.epoch).to.equal(1);
  });

  it('is not accepted from a server that does not know the password', async () => {
    const forged = 'rspauth=00000000000000000000000000000000';
    lab.proxy.on((frame) =>
      answered('sasl')(frame) && !frame.body.includes('nonce') ? { replaceWith: withToken(frame, forged) } : undefined,
    );
    const error = await rejection(LockClient.connect(lab.proxy.connectString, alice));
    expect(error).to.be.instanceOf(AuthFailedError);
    expect(error.message).to.contain('could not prove that it knows the password');
  });

  it('that is refused later ends the session once, and is repeated after a second at the earliest', async () => {
    const warnings: string[] = [];
    const client = await lab.connect({ ...alice, logger: { warn: (_details, text) => void warnings.push(text) } });
    const accept = lab.proxy.on((frame) => (answered('sasl')(frame) ? { replaceError: -115 } : undefined));
    const lost = reached(client, 'lost');
    const connections = lab.proxy.frames.filter(sent('connect')).length;
    lab.proxy.cut();
    await lost;
    expect(lab.proxy.frames.filter(sent('connect'))).to.have.length(connections + 1);
    const lostAt = performance.now();
    expect(warnings.filter((text) => text.includes('has ended: The servers'))).to.have.length(1);
    accept();
    await new InterProcessMutex(client, lab.path).withLock(() => undefined);
    expect(performance.now() - lostAt).to.be.above(490);
  });
});

describe('a server that requires SASL', () => {
  let server: ZooKeeperServer;

  before(async function () {
    needs(this, 'refusals of SASL');
    server = await startRealServer({ security: { sasl: users, requiresSasl: true, tls: 'same-port' } });
  });
  after(() => (server as ZooKeeperServer | undefined)?.stop());

  it('serves a client with an account, which also closes its session', async () => {
    const client = await LockClient.connect(server.connectString, { ...alice, acl: 'creator-only' });
    await new InterProcessMutex(client, testPath('required')).withLock(() => undefined);
    await client.close();
    expect(client.state).to.equal('closed');
  });

  for (const [who, options, says] of [
    ['no account', {}, 'serves only clients that authenticate (error -124): give the option `sasl`'],
    ['a wrong password', sasl('alice', 'open barley'), 'refused the user name or the password'],
    ['only a digest account', { auth: [digest('alice:open sesame')] }, '(error -124)'],
  ] as const)
    it(`refuses a client with ${who} by an AuthFailedError that says so`, async () => {
      const connecting = LockClient.connect(server.connectString, { ...options, connectionTimeoutMs: 5_000 });
      const error = await rejection(connecting);
      expect(error).to.be.instanceOf(AuthFailedError);
      expect(error.message).to.contain(server.connectString).and.contain(says);
    });
});

describe('a server without SASL', () => {
  const lab = labOfEachTest('no-sasl', { server: 'own', client: 'none' });

  it('refuses a client with an account by an AuthFailedError that names its JAAS configuration', async () => {
    const error = await rejection(LockClient.connect(lab.connectString, { ...alice, connectionTimeoutMs: 5_000 }));
    expect(error).to.be.instanceOf(AuthFailedError);
    expect(error.message).to.contain('the server has no SASL: its JAAS configuration');
  });
});
