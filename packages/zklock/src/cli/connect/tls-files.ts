import { isIP } from 'node:net';
import { createSecureContext, type ConnectionOptions } from 'node:tls';
import { errorText } from '../../../../../src/support/error-text.js';
import type { TlsSource } from '../../../../../src/zookeeper/network/network.js';
import { nonEmpty, type Io } from '../io.js';
import { textOf } from './text-of.js';
import { UsageError } from '../usage-error.js';
import type { Arguments } from '../verb.js';

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
  const given = (option: keyof typeof tlsOptions & `tls-${string}`): GivenText | undefined => {
    const variable = `ZKLOCK_${option.replace('-', '_').toUpperCase()}`;
    const [value, from] = [options[option], nonEmpty(env[variable])];
    if (value !== undefined) return { text: value, source: `--${option}` };
    return from === undefined ? undefined : { text: from, source: `$${variable}` };
  };
  const files = { ca: given('tls-ca'), cert: given('tls-cert'), key: given('tls-key') };
  const servername = given('tls-servername');
  const isAsked = options.tls || isOn(env['ZKLOCK_TLS']);
  if (!isAsked && ![...Object.values(files), servername].some((each) => each !== undefined)) return undefined;
  if (servername) expectHostName(servername);
  const alone = files.cert ?? files.key;
  if (alone && !(files.cert && files.key))
    throw new UsageError(
      `--tls-cert and --tls-key belong together: give both, or the same file twice if it has both. Got ${shown(alone)} alone`,
    );
  const passphrase = nonEmpty(env['ZKLOCK_TLS_PASSPHRASE']);
  const read = (): ConnectionOptions => known({ servername: servername?.text, passphrase, ...contentsOf(files) });
  expectUsable(read(), files);
  return read;
}

/** The value of an option, and the option or the variable that it comes from. */
interface GivenText {
  readonly text: string;
  readonly source: string;
}

function shown({ text, source }: GivenText): string {
  return `${source} ${JSON.stringify(text)}`;
}

function expectHostName({ text, source }: GivenText): void {
  const got = `Expected ${source} to be a host name, got ${JSON.stringify(text)}`;
  if (isIP(text) !== 0) throw new UsageError(`${got}: an address is checked without it`);
  if (!/^[\p{L}\p{M}\p{N}._-]+$/u.test(text)) throw new UsageError(got);
}

function isOn(value: string | undefined): boolean {
  const text = nonEmpty(value) ?? '0';
  if (text !== '0' && text !== '1')
    throw new UsageError(`Expected $ZKLOCK_TLS to be 1 or 0, got ${JSON.stringify(text)}`);
  return text === '1';
}

type Files = Readonly<Record<'ca' | 'cert' | 'key', GivenText | undefined>>;

function contentsOf(files: Files): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(files).map(([name, file]) => [name, file && pemOf(file)]));
}

function pemOf({ text: file, source }: GivenText): string {
  let text: string;
  try {
    text = textOf(file);
  } catch (error) {
    throw new UsageError(
      `The file of ${source} cannot be read: expected a file in PEM, got ${JSON.stringify(file)}: ${errorText(error)}`,
    );
  }
  if (!text.includes('-----BEGIN')) throw new UsageError(`The file of ${source} is not PEM: ${JSON.stringify(file)}`);
  return text;
}

/** A wrong key or passphrase is a mistake of the command line, and no failure of the servers. */
function expectUsable(options: ConnectionOptions, files: Files): void {
  try {
    createSecureContext(options);
  } catch (error) {
    const all = Object.values(files).filter((file) => file !== undefined);
    const secret = options.passphrase === undefined ? '' : ', decrypted by $ZKLOCK_TLS_PASSPHRASE,';
    throw new UsageError(
      `Expected a certificate with its key, and authorities, in PEM. ${all.map(shown).join(', ')}${secret} cannot be used: ${errorText(error)}`,
    );
  }
}

function known(options: Record<string, string | undefined>): ConnectionOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
