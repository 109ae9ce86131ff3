import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { account } from '../../../lab/wire/account.ts';
import { serverClassPath } from '../../../lab/servers/server-jars.ts';
import { needs } from '../../../lab/skip-without.ts';
import { rejection } from '../../../lab/until.ts';
import { startRealServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const page = readFileSync(join(root, 'docs/security.md'), 'utf8');

/** The first block of a language behind a heading of docs/security.md. */
const block = (heading: string, language: string): string => {
  const from = page.indexOf(`### ${heading}`);
  const [, code] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(page.slice(from)) ?? [];
  if (from < 0 || code === undefined) throw new Error(`docs/security.md has no ${language} block below ${heading}`);
  return code;
};

/** The setup of docs/security.md, as the page shows it, in a folder and on ports of this test. */
describe('the locked-down setup of docs/security.md', () => {
  let folder = '';
  let server: ZooKeeperServer;

  const here = (text: string): string => text.replaceAll('/etc/zookeeper/tls', folder);
  const tlsOf = (name: string) => ({
    ca: readFileSync(join(folder, 'authority.pem')),
    cert: readFileSync(join(folder, `${name}.pem`)),
    key: readFileSync(join(folder, `${name}.key`)),
  });

  before(async function () {
    needs(this, 'PKCS12');
    this.timeout(60_000);
    folder = mkdtempSync(join(tmpdir(), 'locked-down-'));
    execFileSync('sh', ['-e', '-c', block('1. Certificates', 'sh')], { cwd: folder, stdio: 'pipe' });
    const lines = here(block('2. The servers', 'properties'))
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const)
      .filter(([key]) => !['clientPort', 'secureClientPort'].includes(key));
    server = await startRealServer({
      security: { tls: 'own-port', clientAuth: 'need' },
      config: Object.fromEntries(lines),
    });
    asAdministrator(block('3. The access rights', 'text'));
  });

  after(async () => {
    await (server as ZooKeeperServer | undefined)?.stop();
    if (folder !== '') rmSync(folder, { recursive: true, force: true });
  });

  /** Runs the commands in Java's zkCli, with the certificate of the administrator. */
  const asAdministrator = (commands: string): void => {
    const store = here('/etc/zookeeper/tls/admin.p12');
    const options = {
      'client.secure': 'true',
      clientCnxnSocket: 'org.apache.zookeeper.ClientCnxnSocketNetty',
      'ssl.keyStore.location': store,
      'ssl.keyStore.password': 'changeit',
      'ssl.keyStore.type': 'PKCS12',
      'ssl.trustStore.location': join(folder, 'authority.pem'),
      'ssl.trustStore.type': 'PEM',
    };
    const { stdout, stderr } = spawnSync(
      'java',
      [
        '-Xmx64m',
        '-XX:TieredStopAtLevel=1',
        '-Dorg.slf4j.simpleLogger.defaultLogLevel=error',
        ...Object.entries(options).map(([key, value]) => `-Dzookeeper.${key}=${value}`),
        '-cp',
        serverClassPath({ isOverTls: true }),
        'org.apache.zookeeper.ZooKeeperMain',
        '-waitforconnection',
        '-server',
        server.secureConnectString,
      ],
      { input: `${commands}\nquit\n`, encoding: 'utf8', timeout: 30_000 },
    );
    expect(stdout + stderr).to.contain('Created /locks');
    expect(stdout + stderr).not.to.match(/exception|not valid|insufficient/i);
  };

  it('runs the program of the page', async () => {
    const printed: string[] = [];
    const program = here(block('4. The clients', 'ts'))
      .replaceAll(/^import .*$/gm, '')
      .replace(/'zk1[^']*'/, `'${server.secureConnectString}'`);
    const { constructor: AsyncFunction } = Object.getPrototypeOf(async () => undefined) as { constructor: unknown };
    const run = new (AsyncFunction as new (...args: string[]) => (...args: unknown[]) => Promise<void>)(
      'LockClient',
      'readFileSync',
      'console',
      program,
    );
    await run(LockClient, readFileSync, { log: (text: string) => printed.push(text) });
    expect(printed).to.deep.equal(['only the account "orders" may use this lock']);
  });

  it('refuses a client without a certificate, and a plain client', async () => {
    const { ca } = tlsOf('orders');
    const error = await rejection(
      LockClient.connect(server.secureConnectString, { tls: { ca }, connectionTimeoutMs: 5_000 }),
    );
    expect(error.message).to.match(/TLS with localhost:\d+ failed/);
    const plain = await rejection(
      LockClient.connect(server.secureConnectString, { tls: undefined, connectionTimeoutMs: 500 }),
    );
    expect(plain).to.have.property('code', 'ERR_LOCK_CONNECTION_TIMEOUT');
  });

  it('gives another account of the same authority no place for a lock, and no look at one', async () => {
    const orders = await account(server.secureConnectString, { tls: tlsOf('orders'), acl: 'creator-only' });
    const hold = await new InterProcessMutex(orders.client, '/locks/orders/43').acquire();
    const other = await account(server.secureConnectString, { tls: tlsOf('server'), acl: 'creator-only' });
    try {
      for (const attempt of [
        () => new InterProcessMutex(other.client, '/locks/orders/43').acquire(),
        () => new InterProcessMutex(other.client, '/mine').acquire(),
        () => other.children('/locks'),
        () => other.remove(hold.path),
      ])
        expect((await rejection(attempt())).message).to.contain('NO_AUTH');
      expect(hold.isValid).to.equal(true);
      expect(await hold.release()).to.equal('released');
    } finally {
      await Promise.all([orders.client.close(), other.client.close()]);
    }
  });
});
