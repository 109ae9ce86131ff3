import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { exitCodes } from '../../../packages/zklock/src/cli/exit-code.ts';
import { main } from '../../../packages/zklock/src/cli/main.ts';
import { allVerbs } from '../../../packages/zklock/src/cli/verbs.ts';

type Environment = Readonly<Record<string, string>>;

/** A bad value: how it is given, the name in the message, the value in the message, and what is accepted. */
type Bad = readonly [given: readonly string[] | Environment, name: string, value: string, accepted: string];

const folder = mkdtempSync(join(tmpdir(), 'bad-values-'));
const fileWith = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const text = fileWith('text', 'no credentials, and no certificate\n');
const digest = fileWith('digest', 'digest:alice\n');
// As a FIFO, which would block the tests of a program that reads it.
const device = '/dev/null';
const noPem = fileWith('no.pem', '-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n');

const seconds = 'a number of seconds';
const hostText = 'host[:port]';
const common: readonly Bad[] = [
  [['--servers', 'zk:99999'], 'Expected --servers to be', '"zk:99999"', hostText],
  [['--servers='], 'Expected --servers to be', '""', hostText],
  [{ ZOOKEEPER_CONNECT: 'zk:0' }, 'Expected $ZOOKEEPER_CONNECT to be', '"zk:0"', hostText],
  [['--servers-file='], 'Expected --servers-file to be', '""', hostText],
  [['--servers-file', '/no/file'], 'Expected --servers-file to be a file', '"/no/file"', hostText],
  [['--servers-file', text], 'Expected the text of --servers-file', text, hostText],
  [['--servers-file', device], 'Expected --servers-file to be a file', device, 'it is no regular file'],
  [['--servers-file', text, '--servers', 'zk1'], 'one of --servers and --servers-file', `zk1 and ${text}`, 'got both'],
  [{ ZKLOCK_SERVERS_FILE: '/no/file' }, '$ZKLOCK_SERVERS_FILE', '"/no/file"', hostText],
  [{ ZKLOCK_SERVERS_FILE: text }, 'Expected the text of $ZKLOCK_SERVERS_FILE', 'no credentials', hostText],
  [['--session-timeout', '0'], '--session-timeout', '"0"', `${seconds} from 0.001`],
  [['--session-timeout', 'x'], '--session-timeout', '"x"', `${seconds} from 0.001`],
  [['--connect-timeout', '0'], '--connect-timeout', '"0"', `${seconds} ≥ 0.001`],
  [['--connect-timeout='], '--connect-timeout', '""', seconds],
  [['--auth-file='], '--auth-file', '""', 'to be a file'],
  [['--auth-file', '/no/file'], '--auth-file', '"/no/file"', 'to be a file'],
  [['--auth-file', text], '--auth-file', text, 'SCHEME:CREDENTIALS'],
  [['--auth-file', digest], '--auth-file', digest, 'digest:USER:PASSWORD'],
  [{ ZKLOCK_AUTH_FILE: '/no/file' }, '$ZKLOCK_AUTH_FILE', '"/no/file"', 'to be a file'],
  [{ ZKLOCK_AUTH_FILE: text }, '$ZKLOCK_AUTH_FILE', text, 'SCHEME:CREDENTIALS'],
  // Credentials are not shown.
  [{ ZKLOCK_AUTH: 'alice' }, '$ZKLOCK_AUTH', 'Line 1', 'SCHEME:CREDENTIALS'],
  [{ ZKLOCK_AUTH: 'digest:alice' }, '$ZKLOCK_AUTH', 'Line 1', 'digest:USER:PASSWORD'],
  [{ ZKLOCK_AUTH: 'sasl:alice' }, '$ZKLOCK_AUTH', 'account of SASL', 'sasl:USER:PASSWORD'],
  [{ ZKLOCK_AUTH: 'sasl:a:b\nsasl:c:d' }, '$ZKLOCK_AUTH', 'several', 'sasl:USER:PASSWORD'],
  [['--tls=1'], '--tls', '"1"', 'no value'],
  [{ ZKLOCK_TLS: 'yes' }, '$ZKLOCK_TLS', '"yes"', '1 or 0'],
  [['--tls-servername='], '--tls-servername', '""', 'a host name'],
  [['--tls-servername', '10.0.0.1'], '--tls-servername', '"10.0.0.1"', 'a host name'],
  [{ ZKLOCK_TLS_SERVERNAME: 'a b' }, '$ZKLOCK_TLS_SERVERNAME', '"a b"', 'a host name'],
  [['--tls-cert', noPem], '--tls-cert', noPem, 'give both'],
  [{ ZKLOCK_TLS_KEY: noPem }, '$ZKLOCK_TLS_KEY', noPem, 'give both'],
  ...['ca', 'cert', 'key'].flatMap((name): Bad[] => {
    const [option, variable] = [`--tls-${name}`, `ZKLOCK_TLS_${name.toUpperCase()}`];
    const other = { ca: [], cert: ['--tls-key', noPem], key: ['--tls-cert', noPem] }[name] ?? [];
    return [
      [[option, '', ...other], option, '""', 'in PEM'],
      [[option, '/no/file', ...other], option, '"/no/file"', 'in PEM'],
      [[option, text, ...other], option, text, 'PEM'],
      [[option, device, ...other], option, device, 'it is no regular file'],
      ...(name === 'ca' ? [[{ [variable]: '/no/file' }, `$${variable}`, '"/no/file"', 'in PEM'] as const] : []),
    ];
  }),
  [['--tls-cert', noPem, '--tls-key', noPem], '--tls-cert', noPem, 'a certificate with its key'],
  [
    { ZKLOCK_TLS_CERT: noPem, ZKLOCK_TLS_KEY: noPem, ZKLOCK_TLS_PASSPHRASE: 'x' },
    '$ZKLOCK_TLS_PASSPHRASE',
    '$ZKLOCK_TLS_KEY',
    'a certificate with its key',
  ],
];
const flag = (name: string): Bad => [[`--${name}=x`], `--${name}`, '"x"', 'no value'];
const json = flag('json');
/** An option that any text is good for takes no other option for its value. */
const anyText = (name: string, value: string): Bad => [[`--${name}`, '-x'], `--${name}`, '"-x"', value];
const wait: Bad = [['-w', 'soon'], '--wait', '"soon"', seconds];

const badOf: Readonly<Record<string, { readonly operands: readonly string[]; readonly values: readonly Bad[] }>> = {
  run: {
    operands: ['/a', '--', 'true'],
    values: [
      ...common,
      ...['nonblock', 'shared', 'exclusive', 'scope', 'json', 'verbose'].map(flag),
      wait,
      [['-n', '-w', '5'], '-n', '-w "5"', 'give one of them'],
      [['-E', '256'], '--conflict-exit-code', '"256"', 'from 0 to 255'],
      anyText('command', 'STRING'),
      [['-c', 'date'], '--command', '"date"', 'give one of them'],
      [['--shared', '--slots', '3'], '--shared', '--slots "3"', 'give one of them'],
      [['-x', '--weight', '3'], '-x', '--weight "3"', 'give one of them'],
      [['--slots', '0'], '--slots', '"0"', 'a whole number ≥ 1'],
      [['--weight', '11'], '--weight', '"11"', 'from 1 to 10'],
      [['--lease', '0'], '--lease', '"0"', seconds],
      [['--grace', 'x'], '--grace', '"x"', seconds],
      [['--grace', '30'], '--grace', '30', 'at most 7.5 fits'],
      [['--grace', '3', '--session-timeout', '8'], '--grace', '3', 'at most 2 fits'],
      anyText('on-lost', 'CMD'),
      anyText('data', 'STR'),
      [['--acl', 'all'], '--acl', '"all"', 'one of open, creator-only'],
      [['--acl', 'creator-only'], '--acl', '"creator-only"', 'open'],
      [['--acl=creator-only', '--tls'], '--acl', '"creator-only"', 'open'],
    ],
  },
  ls: { operands: ['/'], values: [...common, json] },
  status: { operands: ['/a'], values: [...common, json] },
  watch: { operands: ['/'], values: [...common, json] },
  check: { operands: [], values: [...common, json] },
  revoke: { operands: ['/a'], values: [...common, json] },
  release: { operands: ['/a'], values: [...common, json, wait] },
  console: {
    operands: ['/'],
    values: [
      ...common,
      [['--host', '256.1.1.1'], '--host', '"256.1.1.1"', 'an address of this machine'],
      [['--host='], '--host', '""', 'an address of this machine'],
      [['--host', '192.0.2.1', '--port', '0'], '--host', '192.0.2.1', 'address of this machine'],
      [['--port', '65536'], '--port', '"65536"', 'from 0 to 65535'],
      flag('allow-revoke'),
    ],
  },
};

describe('each option of zklock, given a bad value', () => {
  let server: Server;
  let connections = 0;
  before(async () => {
    server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  });
  after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  const called = async (words: readonly string[], env: Environment): Promise<{ code: number; stderr: string }> => {
    connections = 0;
    const { port } = server.address() as { port: number };
    const stderr = new PassThrough().setEncoding('utf8');
    const code = await main([...words], {
      stdin: Object.assign(new PassThrough(), { isTTY: false }),
      stdout: new PassThrough(),
      stderr,
      env: { ZOOKEEPER_CONNECT: `127.0.0.1:${port}`, ...env },
      isTerminal: false,
      version: () => '1.2.3',
      onSignal: () => () => undefined,
    });
    return { code, stderr: String(stderr.read() ?? '') };
  };

  for (const [verb, { operands, values }] of Object.entries(badOf))
    for (const [given, name, value, accepted] of values) {
      const words = Array.isArray(given) ? (given as readonly string[]) : [];
      const env = Array.isArray(given) ? {} : (given as Environment);
      const title = Array.isArray(given) ? words.join(' ') : Object.keys(env).join(' ');
      it(`${verb} ${title.replaceAll(folder, '')}: names it, the value and what is accepted, and connects to nothing`, async () => {
        const { code, stderr } = await called([verb, ...words, ...operands], env);
        expect(code, stderr).to.equal(exitCodes.usage);
        expect(stderr).to.contain(name).and.to.contain(value).and.to.contain(accepted);
        // No option of the library, no secret, and no name of an option that the user has not written.
        expect(stderr).not.to.match(/`|alice/);
        if (words.length === 0) expect(stderr.split('\nTry')[0]).not.to.match(/--auth|--servers|--tls-servername/);
        expect(connections).to.equal(0);
      });
    }

  it('is in this table', async () => {
    const connecting = (await allVerbs()).filter(({ options }) => Object.hasOwn(options, 'servers'));
    expect(Object.keys(badOf).sort()).to.deep.equal(connecting.map(({ name }) => name).sort());
    for (const { name, options } of connecting) {
      const tried = badOf[name]?.values.map(([, said]) => said).join(' ') ?? '';
      for (const option of Object.keys(options)) expect(`${tried} `, name).to.match(new RegExp(`--${option} `));
    }
  });
});
