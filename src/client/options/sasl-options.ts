import { printable } from '../../support/printable.js';
import { expected, expectedKind, isPlainObject } from '../../support/validate.js';
import { knowsMd5, type SaslAccount } from '../../zookeeper/wire/digest-md5.js';
import { DigestMd5Handshake } from '../../zookeeper/wire/digest-md5-handshake.js';
import type { SaslHandshake, SaslMechanism, SaslSource } from '../../zookeeper/wire/sasl-handshake.js';

/**
 * How a client authenticates on servers with SASL: by a user name and a password, or by a mechanism such as Kerberos of
 * the package `@zookeeper-fair-lock/kerberos`. Only TLS protects what follows.
 *
 * @example
 * const sasl: SaslOptions = { mechanism: 'DIGEST-MD5', username: 'orders', password: process.env.ZK_PASSWORD ?? '' };
 */
export type SaslOptions = DigestMd5Options | SaslMechanism;

/** An account on servers that authenticate by DIGEST-MD5. The password itself is not sent. */
export interface DigestMd5Options extends SaslAccount {
  /** The way in which the client proves that it knows the password. */
  readonly mechanism: 'DIGEST-MD5';
}

/**
 * @throws TypeError for an account that no server can check. The message never shows a value that may be the password
 */
export function checkSasl(sasl: unknown): SaslOptions | undefined {
  if (sasl === undefined) return undefined;
  const accepted =
    "{ mechanism: 'DIGEST-MD5', username: string, password: string } or, for Kerberos, `await kerberos()` of the package @zookeeper-fair-lock/kerberos";
  if (!isPlainObject(sasl)) throw new TypeError(expectedKind('sasl', accepted, sasl));
  if (sasl['mechanism'] === 'DIGEST-MD5') return checkDigestMd5(sasl);
  const { mechanism, handshake } = sasl;
  if (typeof mechanism !== 'string' || typeof handshake !== 'function')
    throw new TypeError(expected('sasl', accepted, `the mechanism ${String(mechanism)}`));
  return { mechanism, handshake: (peer) => handshake.call(sasl, peer) as SaslHandshake };
}

/** Makes the handshakes of one client. */
export function saslSource(sasl: SaslOptions, uuid: () => string): SaslSource {
  return 'handshake' in sasl ? sasl.handshake : () => new DigestMd5Handshake({ ...sasl, uuid });
}

function checkDigestMd5(sasl: Record<string, unknown>): DigestMd5Options {
  refuseOthers(sasl, ['username', 'password']);
  const { username, password } = sasl;
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
  return { mechanism: 'DIGEST-MD5', username, password };
}

function refuseOthers(sasl: Record<string, unknown>, known: readonly string[]): void {
  const unknown = Object.keys(sasl).find((key) => key !== 'mechanism' && !known.includes(key));
  if (unknown !== undefined)
    throw new TypeError(
      `Unknown option \`sasl.${printable(unknown.slice(0, 30))}\`: accepted are mechanism, ${known.join(', ')}`,
    );
}
