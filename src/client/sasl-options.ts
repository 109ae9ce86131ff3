import { printable } from '../support/printable.js';
import { expected, expectedKind, expectOneOf, isPlainObject } from '../support/validate.js';
import { knowsMd5, type SaslAccount } from '../zookeeper/digest-md5.js';
import { DigestMd5Handshake } from '../zookeeper/digest-md5-handshake.js';
import { GssapiHandshake } from '../zookeeper/gssapi-handshake.js';
import { oneAtATime } from '../zookeeper/kerberos.js';
import type { SaslSource } from '../zookeeper/sasl-handshake.js';
import { loadKerberos } from './kerberos-package.js';

/**
 * How a client authenticates on servers with SASL: by a user name and a password, or by Kerberos. Only TLS protects
 * what follows.
 *
 * @example
 * const sasl: SaslOptions = { mechanism: 'DIGEST-MD5', username: 'orders', password: process.env.ZK_PASSWORD ?? '' };
 */
export type SaslOptions = DigestMd5Options | GssapiOptions;

/** An account on servers that authenticate by DIGEST-MD5. The password itself is not sent. */
export interface DigestMd5Options extends SaslAccount {
  /** The way in which the client proves that it knows the password. */
  readonly mechanism: 'DIGEST-MD5';
}

/**
 * A login by Kerberos. It needs the npm package `kerberos`, and a ticket cache or a keytab, where `KRB5CCNAME` and
 * `KRB5_CLIENT_KTNAME` say.
 *
 * @example
 * const sasl: SaslOptions = { mechanism: 'GSSAPI', servicePrincipal: 'zookeeper/zk.internal' };
 */
export interface GssapiOptions {
  /** The mechanism of SASL for Kerberos. */
  readonly mechanism: 'GSSAPI';
  /**
   * The servers' name in Kerberos, `service/host`. krb5.conf says to which realm the host belongs.
   * @default `zookeeper/` and the host of the connection, as in the connect string
   */
  readonly servicePrincipal?: string | undefined;
  /**
   * The client's name in Kerberos, such as `orders@INTERNAL`.
   * @default the default principal of the ticket cache
   */
  readonly principal?: string | undefined;
}

/**
 * @throws TypeError for an account that no server can check. The message never shows a value that may be the password
 */
export function checkSasl(sasl: unknown): SaslOptions | undefined {
  if (sasl === undefined) return undefined;
  const accepted =
    "{ mechanism: 'DIGEST-MD5', username: string, password: string } or { mechanism: 'GSSAPI', servicePrincipal?: string, principal?: string }";
  if (!isPlainObject(sasl)) throw new TypeError(expectedKind('sasl', accepted, sasl));
  const { mechanism } = sasl;
  expectOneOf('sasl.mechanism', mechanism, ['DIGEST-MD5', 'GSSAPI']);
  return mechanism === 'GSSAPI' ? checkGssapi(sasl) : checkDigestMd5(sasl);
}

/** Makes the handshakes of one client. */
export function saslSource(sasl: SaslOptions, uuid: () => string): SaslSource {
  if (sasl.mechanism === 'DIGEST-MD5') return () => new DigestMd5Handshake({ ...sasl, uuid });
  return (peer) => new GssapiHandshake({ ...sasl, load: loadKerberos, inTurn }, peer);
}

/** All clients of this process share the threads that Kerberos takes. */
const inTurn = oneAtATime();

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

function checkGssapi(sasl: Record<string, unknown>): GssapiOptions {
  refuseOthers(sasl, ['servicePrincipal', 'principal']);
  const { servicePrincipal, principal } = sasl;
  if (servicePrincipal !== undefined && !isName(servicePrincipal, /^[^/@]+\/[^/@]+$/))
    throw new TypeError(
      expected(
        'sasl.servicePrincipal',
        "a service and a host, such as 'zookeeper/zk.internal' (krb5.conf says to which realm the host belongs)",
        servicePrincipal,
      ),
    );
  if (principal !== undefined && !isName(principal, /^[^@]+(@[^@]+)?$/))
    throw new TypeError(expected('sasl.principal', "a principal of Kerberos, such as 'orders@INTERNAL'", principal));
  return { mechanism: 'GSSAPI', servicePrincipal, principal };
}

/** Kerberos would cut a name at its first NUL. */
function isName(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value) && !/[\s\0]/.test(value);
}

function refuseOthers(sasl: Record<string, unknown>, known: readonly string[]): void {
  const unknown = Object.keys(sasl).find((key) => key !== 'mechanism' && !known.includes(key));
  if (unknown !== undefined)
    throw new TypeError(
      `Unknown option \`sasl.${printable(unknown.slice(0, 30))}\`: accepted are mechanism, ${known.join(', ')}`,
    );
}
