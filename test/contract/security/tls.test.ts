import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import {
  InterProcessMutex,
  LockClient,
  TlsError,
  type LockClientOptions,
  type TlsOptions,
} from '../../../src/index.ts';
import { listen, onFreshPorts } from '../../../lab/servers/free-port.ts';
import { reached } from '../../../lab/reached.ts';
import { testPath } from '../../../lab/test-path.ts';
import { clientTls, keyFile, type KeyName } from '../../../lab/servers/tls-keys.ts';
import { rejection } from '../../../lab/until.ts';
import { needs } from '../../../lab/skip-without.ts';
import { chosenVersion, has } from '../../../lab/servers/versions.ts';
import { startRealServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';

/** The servers start beforehand, because a start takes longer than a test. */
const servers = new Map<KeyName, ZooKeeperServer>();
const connectionTimeoutMs = 15_000;

const secure = (name: KeyName = 'server'): ZooKeeperServer => {
  const server = servers.get(name);
  if (!server) throw new Error(`No server has the certificate ${name}`);
  return server;
};

const lockOnce = async (connectString: string, options: LockClientOptions): Promise<void> => {
  await using client = await LockClient.connect(connectString, options);
  await new InterProcessMutex(client, testPath('tls')).withLock((hold) => expect(hold.isValid).to.equal(true));
};

describe('a client with TLS', () => {
  before(async function () {
    this.timeout(60_000);
    await Promise.all(
      (['server', 'expired', 'other-name'] as const).map(async (certificate) => {
        const clientAuth = certificate === 'server' ? 'want' : 'none';
        // The versions of TLS that a server allows by default depend on its version.
        const config = certificate === 'expired' && { 'ssl.protocol': 'TLSv1.2', 'ssl.enabledProtocols': 'TLSv1.2' };
        servers.set(
          certificate,
          await startRealServer({ security: { tls: 'own-port', certificate, clientAuth }, ...(config && { config }) }),
        );
      }),
    );
  });

  after(() => Promise.all([...servers.values()].map((server) => server.stop())));

  for (const [what, options] of [
    ['without a certificate of its own', () => clientTls()],
    ['with a certificate of its own', () => clientTls('client')],
    ['whose options are a function', () => () => clientTls('client')],
    ['that gives the name of the certificate', () => ({ ...clientTls('client'), servername: 'zookeeper.test' })],
  ] as const satisfies readonly (readonly [string, () => TlsOptions])[])
    it(`${what} uses locks, by the server's name and by its address`, async function () {
      if (what === 'without a certificate of its own') needs(this, 'clients without a certificate');
      const { secureConnectString } = secure();
      await lockOnce(secureConnectString, { tls: options() });
      await lockOnce(secureConnectString.replace('localhost', '127.0.0.1'), { tls: options() });
    });

  const negative: readonly {
    readonly fault: string;
    readonly at: () => string;
    readonly tls?: () => TlsOptions;
    readonly problem: string;
    readonly says: RegExp;
  }[] = [
    {
      fault: 'that does not know the authority',
      at: () => secure().secureConnectString,
      tls: () => true,
      problem: 'unknown-authority',
      says: /does not trust the authority .* in the option tls\.ca$/,
    },
    {
      fault: 'that trusts another authority',
      at: () => secure().secureConnectString,
      tls: () => ({ ca: readFileSync(keyFile('foreign-authority', 'pem')) }),
      problem: 'unknown-authority',
      says: /does not trust the authority/,
    },
    {
      fault: 'whose server has another name',
      at: () => secure('other-name').secureConnectString,
      tls: () => clientTls(),
      problem: 'wrong-name',
      says: /certificate is for another name \(.*DNS:other\.test\)\. Use a name of the certificate/,
    },
    {
      fault: 'whose server has an expired certificate',
      at: () => secure('expired').secureConnectString,
      tls: () => clientTls(),
      problem: 'expired',
      says: /certificate has expired \(CERT_HAS_EXPIRED\)\. Renew it/,
    },
    {
      fault: 'whose own certificate the server does not accept',
      at: () => secure().secureConnectString,
      tls: () => clientTls('foreign-client'),
      problem: 'client-certificate',
      says: /does not accept this client's certificate/,
    },
    {
      fault: 'that has no version of TLS in common with the server',
      at: () => secure('expired').secureConnectString,
      tls: () => ({ ...clientTls(), minVersion: 'TLSv1.3' }),
      problem: 'protocol',
      says: /no common version of TLS/,
    },
  ];
  for (const { fault, at, tls, problem, says } of negative)
    it(`${fault} gets a TlsError that names the server, long before the connection timeout`, async function () {
      if (problem === 'protocol') needs(this, 'ssl.protocol');
      const startedAt = performance.now();
      // So long that a busy machine cannot be taken for a client that waits.
      const longMs = 50_000;
      const error = await rejection(LockClient.connect(at(), { tls: tls?.(), connectionTimeoutMs: longMs }));
      expect(performance.now() - startedAt).to.be.below(longMs / 2);
      expect(error).to.be.instanceOf(TlsError).with.property('code', 'ERR_LOCK_TLS');
      expect(error).to.include({ problem, server: at() });
      expect(error.message).to.match(says).and.contain(`TLS with ${at()} failed: `);
    });

  it('that speaks one version of TLS is accepted, or gets a TlsError, as the defaults of the server say', async () => {
    const { tls: byDefault = 'TLSv1.2' } = chosenVersion();
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const tls = { ...clientTls('client'), minVersion: version, maxVersion: version };
      const locking = lockOnce(secure().secureConnectString, { tls, connectionTimeoutMs });
      if (version === byDefault || !has('ssl.protocol')) await locking;
      else expect(await rejection(locking)).to.have.property('problem', 'protocol');
    }
  });

  it('at a plain port gets an error that names the secureClientPort', async () => {
    const at = `localhost:${secure().port}`;
    const error = await rejection(LockClient.connect(at, { tls: clientTls(), connectionTimeoutMs: 1_000 }));
    expect(error).to.have.property('code', 'ERR_LOCK_CONNECTION_TIMEOUT');
    expect(error.message).to.contain(`TLS with ${at} failed: the server closed the connection in the handshake`);
    expect(error.message).to.contain("use the server's secureClientPort, or leave out the option tls");
    expect(error.cause).to.be.instanceOf(TlsError).with.property('problem', 'closed');
  });

  it('at a port that speaks another protocol gets a TlsError', async () => {
    const web = createServer((socket) => socket.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const port = await onFreshPorts(1, ([candidate = 0]) => listen(web, candidate));
    try {
      const connecting = LockClient.connect(`127.0.0.1:${port}`, { tls: clientTls(), connectionTimeoutMs: 2_000 });
      expect(await rejection(connecting))
        .to.be.instanceOf(TlsError)
        .with.property('problem', 'not-tls');
    } finally {
      web.close();
    }
  });

  it('does not connect if only one of several servers can be reached, but says why the others failed', async () => {
    const hosts = `${secure('expired').secureConnectString},${secure('other-name').secureConnectString}`;
    await lockOnce(`${hosts},${secure().secureConnectString}`, { tls: clientTls('client') });
    const error = await rejection(LockClient.connect(hosts, { tls: clientTls('client'), connectionTimeoutMs }));
    expect(error).to.be.instanceOf(TlsError);
  });

  it('tells a plain client at the TLS port what the port may be', async () => {
    const at = secure().secureConnectString;
    const error = await rejection(LockClient.connect(at, { tls: undefined, connectionTimeoutMs: 1_500 }));
    expect(error).to.have.property('code', 'ERR_LOCK_CONNECTION_TIMEOUT');
    expect(error.message).to.contain(
      `${at} closed the connection without an answer. If this is its secureClientPort, set the option \`tls\``,
    );
  });

  for (const [fault, tls, says] of [
    [
      'throws',
      () => {
        throw new Error('no such file: client.pem');
      },
      'no such file: client.pem',
    ],
    ['returns a promise', () => Promise.resolve({}), 'got a Promise. It must return the options at once'],
    [
      'returns the name of a file',
      () => ({ ca: '/etc/ca.pem' }),
      'Expected `tls().ca` to be the content of a PEM file',
    ],
    ['returns something else', () => 'secret', 'Expected `tls()` to be true or the options of node:tls, got a string'],
  ] as const)
    it(`whose function ${fault} gets an error that says so, and connects when the function is repaired`, async () => {
      let isBroken = true;
      const options = (() => (isBroken ? tls() : clientTls('client'))) as TlsOptions;
      const at = secure().secureConnectString;
      const error = await rejection(LockClient.connect(at, { tls: options, connectionTimeoutMs: 1_500 }));
      expect(error.cause).to.be.instanceOf(TlsError).with.property('problem', 'options');
      expect(error.message).to.contain(`TLS with ${at} failed: the option tls cannot be used: `).and.contain(says);
      expect(error.message).not.to.contain('secret');
      isBroken = false;
      await lockOnce(at, { tls: options });
    });

  it('warns once if it accepts every certificate', async () => {
    const warnings: string[] = [];
    const logger = { warn: (_details: unknown, message: string) => void warnings.push(message) };
    await using client = await LockClient.connect(secure('expired').secureConnectString, {
      tls: { ...clientTls('client'), rejectUnauthorized: false },
      sessionTimeoutMs: 30_000,
      logger,
    });
    const again = reached(client, 'reconnected');
    client.session.attach().catch(() => undefined);
    await new InterProcessMutex(client, testPath('unverified')).withLock(() => undefined);
    void again;
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain('tls.rejectUnauthorized is false');
  });

  it('asks the function at each connection, so that renewed certificates are used', async () => {
    const names: KeyName[] = ['client', 'mallory'];
    let asked = 0;
    const tls = (): { ca: Buffer } => clientTls(names[asked++ % 2]);
    await using client = await LockClient.connect(secure().secureConnectString, { tls, acl: 'creator-only' });
    const mine = new InterProcessMutex(client, testPath('first'));
    await mine.withLock(() => undefined);
    await client.session.attach();
    expect(asked).to.equal(2);
    // The second certificate is another account.
    expect(await rejection(mine.acquire())).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
  });
});
