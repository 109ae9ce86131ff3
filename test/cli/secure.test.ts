import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { account, permission } from '../../lab/wire/account.ts';
import { clientTls, keyFile, x509Ids } from '../../lab/servers/tls-keys.ts';
import { startRealServer, type ZooKeeperServer } from '../../lab/servers/zookeeper-server.ts';
import { Zklock } from './support/zklock.ts';

const password = 'open:sesame';

describe('zklock on servers with TLS and SASL', function () {
  this.timeout(60_000);
  let tls: ZooKeeperServer;
  let sasl: ZooKeeperServer;
  let folder: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'zklock-'));
    [tls, sasl] = await Promise.all([
      startRealServer({ security: { tls: 'own-port', clientAuth: 'need' } }),
      startRealServer({ security: { sasl: { alice: password }, requiresSasl: true, tls: 'same-port' } }),
    ]);
  });

  after(async () => {
    rmSync(folder, { recursive: true });
    await Promise.all([tls.stop(), sasl.stop()]);
  });

  const fileWith = (name: string, text: string): string => {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  };

  const options = (): string[] => [
    ...['--tls-ca', keyFile('authority', 'pem')],
    ...['--tls-cert', keyFile('client', 'pem'), '--tls-key', keyFile('client', 'key')],
  ];

  it('run, status and check use the certificates of --tls-ca, --tls-cert and --tls-key', async () => {
    const servers = ['--servers', tls.secureConnectString];
    await using run = new Zklock(['run', ...servers, ...options(), '/tls/a', '-c', 'echo ready; exec sleep 1000']);
    await run.prints('ready');
    await using status = new Zklock(['status', ...servers, ...options(), '/tls/a']);
    expect(await status.ends(), status.stderr).to.equal(0);
    expect(status.stdout).to.include(`${run.pid}`);
    await using check = new Zklock(['check', ...servers, ...options(), '/tls']);
    expect(await check.ends(), check.stdout).to.equal(0);
    expect(check.stdout).to.match(/^ok +server localhost:\d+ +3\.\d+\.\d+, standalone$/m);
    run.signal('SIGTERM');
    expect(await run.ends()).to.equal(143);
  });

  it('the environment names the same files, the passphrase of the key, and the name of the servers', async () => {
    const encrypted = join(folder, 'encrypted.key');
    execFileSync(
      'openssl',
      ['ec', '-in', keyFile('client', 'key'), '-out', encrypted, '-aes256', '-passout', 'pass:four words'],
      { stdio: 'pipe' },
    );
    const env = {
      ZOOKEEPER_CONNECT: tls.secureConnectString,
      ZKLOCK_TLS: '1',
      ZKLOCK_TLS_CA: keyFile('authority', 'pem'),
      ZKLOCK_TLS_CERT: keyFile('client', 'pem'),
      ZKLOCK_TLS_KEY: encrypted,
      ZKLOCK_TLS_SERVERNAME: 'zookeeper.test',
    };
    const run = ['run', '/tls/b', '--', 'true'];
    await using good = new Zklock(run, { env: { ...env, ZKLOCK_TLS_PASSPHRASE: 'four words' } });
    expect(await good.ends(), good.stderr).to.equal(0);
    await using locked = new Zklock(run, { env: { ...env, ZKLOCK_TLS_PASSPHRASE: 'five words' } });
    expect(await locked.ends()).to.equal(64);
    expect(locked.stderr)
      .to.match(/cannot be used/)
      .and.not.to.include('five words');
    await using other = new Zklock(run, {
      env: { ...env, ZKLOCK_TLS_PASSPHRASE: 'four words', ZKLOCK_TLS_SERVERNAME: 'x.test' },
    });
    expect(await other.ends()).to.equal(69);
    expect(other.stderr).to.include('certificate is for another name');
  });

  it('servers that are not trusted are unreachable, and a client without a certificate is not allowed', async () => {
    const run = (...more: string[]) =>
      new Zklock(['run', '--servers', tls.secureConnectString, '-w', '20', ...more, '/tls/c', '--', 'echo', 'started']);
    await using untrusted = run(...options().slice(2)); // without --tls-ca
    await using nobody = run('--tls-ca', keyFile('authority', 'pem'));
    expect([await untrusted.ends(), await nobody.ends()], nobody.stderr).to.deep.equal([69, 77]);
    expect(untrusted.stderr).to.include('does not trust the authority');
    expect(untrusted.stdout + nobody.stdout).to.equal('');
  });

  it('--acl creator-only gives the znode to the subject of the certificate', async () => {
    const servers = ['--servers', tls.secureConnectString];
    await using run = new Zklock([
      ...['run', '--json', ...servers, ...options(), '--acl', 'creator-only', '/closed'],
      ...['-c', 'echo ready; exec sleep 1000'],
    ]);
    await run.prints('ready');
    const { node } = await run.tells('acquired');
    await using alice = await account(tls.secureConnectString, { tls: clientTls('client') });
    expect(await alice.acl(node as string)).to.deep.equal([
      { permissions: permission.all, scheme: 'x509', id: x509Ids.client },
    ]);
    await using nobody = new Zklock(
      ['run', '--servers', sasl.connectString, '--acl', 'creator-only', '/a', '--', 'true'],
      {
        env: { ZKLOCK_AUTH: '' },
      },
    );
    expect(await nobody.ends()).to.equal(64);
  });

  const mistakes: readonly [what: string, args: () => string[], says: RegExp][] = [
    ['a certificate without a key', () => ['--tls-cert', keyFile('client', 'pem')], /belong together/],
    ['a file that is missing', () => ['--tls-ca', '/no/such/file'], /file of --tls-ca cannot be read/],
    [
      'a file that is not PEM',
      () => ['--tls-ca', keyFile('client', 'pem').replace(/pem$/, 'ext')],
      /file of --tls-ca is not PEM/,
    ],
    [
      'the key of another certificate',
      () => ['--tls-cert', keyFile('client', 'pem'), '--tls-key', keyFile('mallory', 'key')],
      /cannot be used/,
    ],
  ];
  for (const [what, args, says] of mistakes)
    it(`${what} is a mistake of the command line`, async () => {
      await using zklock = new Zklock(['run', ...args(), '/tls/d', '--', 'true']);
      expect(await zklock.ends()).to.equal(64);
      expect(zklock.stderr).to.match(says);
    });

  it('an account of SASL comes from the file or the variable of the credentials, beside others', async () => {
    const digest = `digest:carol:${createHash('sha1').update('x').digest('hex')}`;
    const file = fileWith('auth', `sasl:alice:${password}\n${digest}\n`);
    const run = ['run', '--servers', sasl.connectString, '/sasl/a', '--', 'true'];
    await using byFile = new Zklock(run, { env: { ZKLOCK_AUTH_FILE: file } });
    await using byVariable = new Zklock(run, { env: { ZKLOCK_AUTH: `sasl:alice:${password}` } });
    await using wrong = new Zklock(run, { env: { ZKLOCK_AUTH: 'sasl:alice:guessed' } });
    await using nobody = new Zklock(run);
    expect([await byFile.ends(), await byVariable.ends()], byFile.stderr + byVariable.stderr).to.deep.equal([0, 0]);
    expect([await wrong.ends(), await nobody.ends()], wrong.stderr + nobody.stderr).to.deep.equal([77, 77]);
    expect(wrong.stderr).not.to.include('guessed');
    await using two = new Zklock(run, { env: { ZKLOCK_AUTH: 'sasl:alice:secret-1\nsasl:bob:secret-2' } });
    expect(await two.ends()).to.equal(64);
    expect(two.stderr).to.include('one line sasl:USER:PASSWORD').and.not.to.include('secret-');
  });
});
