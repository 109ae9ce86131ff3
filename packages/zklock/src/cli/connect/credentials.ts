import { readFileSync } from 'node:fs';
import type { LockClientOptions } from '../../../../../src/client/options/client-options.js';
import type { Credential } from '../../../../../src/zookeeper/connection/connection-options.js';
import { errorText } from '../../../../../src/support/error-text.js';
import { nonEmpty, type Io } from '../io.js';
import { UsageError } from '../usage-error.js';

/**
 * Reads the credentials from a file, or from the environment. A password on the command line would be visible to every
 * user of the machine, so there is no option for one.
 *
 * @param file the option `--auth-file`
 * @throws UsageError for credentials that cannot be read. The text is not shown: it may be a password
 */
export function credentialsOf(
  file: string | undefined,
  { env }: Io,
): Pick<LockClientOptions, 'sasl'> & { readonly auth: readonly Credential[] } {
  const from = file ?? nonEmpty(env['ZKLOCK_AUTH_FILE']);
  const option = file === undefined ? '$ZKLOCK_AUTH_FILE' : '--auth-file';
  const source = from === undefined ? '$ZKLOCK_AUTH' : `${option} ${JSON.stringify(from)}`;
  const text = from === undefined ? (env['ZKLOCK_AUTH'] ?? '') : contentsOf(from, option);
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const all = lines.map((line, index) => {
    const [, scheme = '', credentials = ''] = /^\s*([^:\s]+):(.+)$/.exec(line) ?? [];
    if (scheme === '')
      throw new UsageError(`Line ${index + 1} of ${source} is not SCHEME:CREDENTIALS, such as digest:user:secret`);
    if (scheme === 'digest' && !/^[^:]+:/.test(credentials))
      throw new UsageError(`Line ${index + 1} of ${source} is not digest:USER:PASSWORD`);
    return { scheme, credentials };
  });
  const [account, another] = all.filter(isSasl);
  if (another) throw new UsageError(`Expected one line sasl:USER:PASSWORD in ${source}, got several`);
  return {
    auth: all.filter((each) => !isSasl(each)),
    ...(account && { sasl: saslOf(account.credentials, source) }),
  };
}

/** The servers have no scheme of that name for credentials: SASL has messages of its own. */
function isSasl({ scheme }: { readonly scheme: string }): boolean {
  return scheme === 'sasl';
}

function saslOf(credentials: string, source: string): NonNullable<LockClientOptions['sasl']> {
  const [, username = '', password = ''] = /^([^:]+):(.+)$/.exec(credentials) ?? [];
  if (username === '') throw new UsageError(`The account of SASL in ${source} is not sasl:USER:PASSWORD`);
  return { mechanism: 'DIGEST-MD5', username, password };
}

function contentsOf(file: string, option: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(
      `The file of credentials cannot be read: expected ${option} to be a file, got ${JSON.stringify(file)}: ${errorText(error)}`,
    );
  }
}
