import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { createSecureContext, type ConnectionOptions } from 'node:tls';
import { errorText } from '../../../../src/support/error-text.js';
import type { TlsSource } from '../../../../src/zookeeper/network.js';
import { nonEmpty, type Io } from './io.js';
import { UsageError } from './usage-error.js';
import type { Arguments } from './verb.js';

/** The options of TLS. A key is given as a file, and its passphrase only in the environment. */
export const tlsOptions = {
  tls: {
    kind: 'flag',
    summary: 'connect over TLS; implied by the other --tls options; else if $ZKLOCK_TLS is 1',
  },
  'tls-ca': {
    kind: 'text',
    value: 'FILE',
    completes: 'file',
    summary: 'the authorities that sign the servers’ certificates, in PEM; else $ZKLOCK_TLS_CA, else those of Node.js',
  },
  'tls-cert': {
    kind: 'text',
    value: 'FILE',
    completes: 'file',
    summary: 'the certificate to show to the servers, in PEM; else $ZKLOCK_TLS_CERT',
  },
  'tls-key': {
    kind: 'text',
    value: 'FILE',
    completes: 'file',
    summary: 'the key of that certificate, in PEM; else $ZKLOCK_TLS_KEY. $ZKLOCK_TLS_PASSPHRASE decrypts it',
  },
  'tls-servername': {
    kind: 'text',
    value: 'NAME',
    summary: 'the name in the servers’ certificates, if it is not their host name; else $ZKLOCK_TLS_SERVERNAME',
  },
} as const;

/**
 * The client's option `tls`. Undefined: no TLS. The files are read at each connection, so that a command that runs for
 * long uses renewed certificates.
 *
 * @throws UsageError if a file cannot be read or used
 */
export function tlsOf({ options }: Arguments<typeof tlsOptions>, { env }: Io): TlsSource | undefined {
  const files = {
    ca: options['tls-ca'] ?? nonEmpty(env['ZKLOCK_TLS_CA']),
    cert: options['tls-cert'] ?? nonEmpty(env['ZKLOCK_TLS_CERT']),
    key: options['tls-key'] ?? nonEmpty(env['ZKLOCK_TLS_KEY']),
  };
  const texts = {
    servername: options['tls-servername'] ?? nonEmpty(env['ZKLOCK_TLS_SERVERNAME']),
    passphrase: nonEmpty(env['ZKLOCK_TLS_PASSPHRASE']),
  };
  const isAsked = options.tls || isOn(env['ZKLOCK_TLS']);
  if (!isAsked && ![...Object.values(files), texts.servername].some((each) => each !== undefined)) return undefined;
  if (isIP(texts.servername ?? '') !== 0)
    throw new UsageError(
      `Expected --tls-servername to be a host name, got ${JSON.stringify(texts.servername)}: an address is checked without it`,
    );
  if ((files.cert === undefined) !== (files.key === undefined))
    throw new UsageError('--tls-cert and --tls-key belong together: give both, or the same file twice if it has both');
  const read = (): ConnectionOptions => given({ ...texts, ...contentsOf(files) });
  expectUsable(read());
  return read;
}

function isOn(value: string | undefined): boolean {
  const text = nonEmpty(value) ?? '0';
  if (text !== '0' && text !== '1')
    throw new UsageError(`Expected $ZKLOCK_TLS to be 1 or 0, got ${JSON.stringify(text)}`);
  return text === '1';
}

type Files = Readonly<Record<'ca' | 'cert' | 'key', string | undefined>>;

function contentsOf(files: Files): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(files).map(([name, file]) => [name, file === undefined ? undefined : pemOf(`--tls-${name}`, file)]),
  );
}

function pemOf(option: string, file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`The file of ${option} cannot be read: ${errorText(error)}`);
  }
  if (!text.includes('-----BEGIN')) throw new UsageError(`The file of ${option} is not PEM: ${JSON.stringify(file)}`);
  return text;
}

/** A wrong key or passphrase is a mistake of the command line, and no failure of the servers. */
function expectUsable(options: ConnectionOptions): void {
  try {
    createSecureContext(options);
  } catch (error) {
    throw new UsageError(`The files of --tls-ca, --tls-cert and --tls-key cannot be used: ${errorText(error)}`);
  }
}

function given(options: Record<string, string | undefined>): ConnectionOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
