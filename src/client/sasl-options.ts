import { expected, expectedKind, expectOneOf, isPlainObject } from '../support/validate.js';
import { knowsMd5, type SaslAccount } from '../zookeeper/digest-md5.js';

/**
 * An account on servers that authenticate by SASL. The password itself is not sent, but only TLS protects what follows.
 *
 * @example
 * const sasl: SaslOptions = { mechanism: 'DIGEST-MD5', username: 'orders', password: process.env.ZK_PASSWORD ?? '' };
 */
export interface SaslOptions extends SaslAccount {
  /** The way in which the client proves that it knows the password. */
  readonly mechanism: 'DIGEST-MD5';
}

/**
 * @throws TypeError for an account that no server can check. The message never shows a value that may be the password
 */
export function checkSasl(sasl: unknown): SaslAccount | undefined {
  if (sasl === undefined) return undefined;
  const accepted = "{ mechanism: 'DIGEST-MD5', username: string, password: string }";
  if (!isPlainObject(sasl)) throw new TypeError(expectedKind('sasl', accepted, sasl));
  const { mechanism, username, password, ...others } = sasl;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new TypeError(`Unknown option \`sasl.${unknown.slice(0, 30)}\`: accepted are mechanism, username, password`);
  if (mechanism === 'GSSAPI')
    throw new TypeError(
      'Expected `sasl.mechanism` to be \'DIGEST-MD5\', got "GSSAPI": Kerberos is not supported. Use a client certificate (`tls`) or DIGEST-MD5',
    );
  expectOneOf('sasl.mechanism', mechanism, ['DIGEST-MD5']);
  if (typeof username !== 'string' || username === '')
    throw new TypeError(
      expected('sasl.username', 'a non-empty string', typeof username === 'string' ? username : typeof username),
    );
  if (typeof password !== 'string' || password === '')
    throw new TypeError(
      `Expected \`sasl.password\` to be a non-empty string, got ${password === '' ? 'an empty one' : `a value of type ${typeof password}`}`,
    );
  if (!knowsMd5())
    throw new TypeError(
      "Expected `sasl` with a Node.js that can compute MD5, got one that cannot (FIPS mode?): use a client certificate (`tls`) instead of mechanism 'DIGEST-MD5'",
    );
  return { username, password };
}
