import { errorText } from '../../support/error-text.js';
import { LockError } from '../../support/lock-error.js';
import { nameOf, type Host } from '../wire/connect-string.js';

/**
 * The TLS handshake with a server failed. The message names the server, the problem and what to do. `cause` is the
 * error of Node.js.
 */
export class TlsError extends LockError {
  /** The problem, for programs. */
  readonly problem: TlsProblem;
  /** `host:port` of the server. */
  readonly server: string;

  static {
    this.prototype.name = 'TlsError';
  }

  /** @param server `host:port` of the server */
  constructor(server: string, problem: TlsProblem, cause: unknown) {
    super('ERR_LOCK_TLS', `TLS with ${server} failed: ${texts[problem](cause)}`, { cause });
    this.problem = problem;
    this.server = server;
  }

  /** True if a further attempt cannot succeed until the certificates, the server or the options change. */
  get isDefinite(): boolean {
    return !passing.has(this.problem);
  }
}

/**
 * - `unknown-authority`: the client does not trust the authority that signed the server's certificate
 * - `wrong-name`: the server's certificate is for another name
 * - `expired`: the server's certificate has expired, or is not valid yet
 * - `client-certificate`: the server does not accept the client's certificate, or the client has none. If the server only
 *   said that the handshake failed, they may also have no common cipher
 * - `protocol`: no common version of TLS, or no common cipher
 * - `not-tls`: the server's answer is not TLS
 * - `alert`: the server refused the handshake for another reason
 * - `closed`: the server closed the connection in the handshake, as a plain port does
 * - `options`: the options of TLS cannot be used
 */
export type TlsProblem =
  | 'unknown-authority'
  | 'wrong-name'
  | 'expired'
  | 'client-certificate'
  | 'protocol'
  | 'not-tls'
  | 'alert'
  | 'closed'
  | 'options';

/**
 * The error of an attempt over TLS that ended before the server answered the ConnectRequest: a TlsError if TLS is the
 * reason.
 *
 * @param isHandshakeOver true if the client had finished the handshake
 */
export function explainTls(error: unknown, host: Host, isHandshakeOver: boolean): unknown {
  if (error instanceof LockError) return error;
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') return error;
  // Node.js gives some errors of OpenSSL the code EPROTO, with OpenSSL's own text in the message.
  const text = code === 'EPROTO' ? errorText(error).toUpperCase().replaceAll(' ', '_') : code;
  const problem = problems.find(([, pattern]) => pattern.test(text))?.[0];
  if (problem !== undefined) return new TlsError(nameOf(host), problem, error);
  return code === 'ECONNRESET' && !isHandshakeOver ? new TlsError(nameOf(host), 'closed', error) : error;
}

/** The problems that a further attempt may not have. */
const passing: ReadonlySet<TlsProblem> = new Set(['alert', 'closed', 'options']);

type Text = (cause: unknown) => string;

const texts = {
  'unknown-authority': (cause) =>
    `this client does not trust the authority that signed the server's certificate (${codeOf(cause)}). Give that authority's certificate in the option tls.ca`,
  'wrong-name': (cause) =>
    `the server's certificate is for another name (${reasonOf(cause)}). Use a name of the certificate in the connect string, or give it in the option tls.servername`,
  expired: (cause) =>
    `the server's certificate ${codeOf(cause) === 'CERT_NOT_YET_VALID' ? 'is not valid yet' : 'has expired'} (${codeOf(cause)}). Renew it on the server, and check the clock of this machine`,
  'client-certificate': (cause) => {
    const cure = "Give tls.cert and tls.key that an authority of the server's ssl.trustStore has signed";
    // Servers send this alert for a cipher, too.
    return /HANDSHAKE[_ ]FAILURE/i.test(`${codeOf(cause)} ${errorText(cause)}`)
      ? `the server does not accept this client's certificate, the client has none, or they have no common cipher (${codeOf(cause)}). ${cure}, or check tls.ciphers, and ssl.ciphersuites on the server`
      : `the server does not accept this client's certificate, or the client has none (${codeOf(cause)}). ${cure}`;
  },
  protocol: (cause) =>
    `the server and this client have no common version of TLS, or no common cipher (${codeOf(cause)}). Check tls.minVersion, tls.maxVersion and tls.ciphers, and ssl.enabledProtocols and ssl.ciphersuites on the server`,
  'not-tls': (cause) =>
    `the answer is not TLS (${codeOf(cause)}). Use the server's secureClientPort, or leave out the option tls`,
  alert: (cause) => `the server refused the handshake (${codeOf(cause)}). Look at the server's log`,
  closed: () =>
    `the server closed the connection in the handshake. A plain clientPort does that: use the server's secureClientPort, or leave out the option tls`,
  options: (cause) => `the option tls cannot be used: ${errorText(cause)}`,
} satisfies Record<TlsProblem, Text>;

/** The codes of OpenSSL's and Node's errors. */
const problems: readonly (readonly [TlsProblem, RegExp])[] = [
  ['wrong-name', /^ERR_TLS_CERT_ALTNAME/],
  ['expired', /^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/],
  [
    'unknown-authority',
    /^(?:UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_|CERT_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH)/,
  ],
  // Alerts of the server. TLS 1.3 sends them after the client has finished the handshake.
  ['client-certificate', /_ALERT_(?:\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE_FAILURE|DECRYPT_ERROR)/],
  ['protocol', /PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|NO_PROTOCOLS|INSUFFICIENT_SECURITY|NO_CIPHERS|VERSION_TOO_LOW/],
  ['alert', /_ALERT_|^EPROTO/],
  ['not-tls', /WRONG_VERSION_NUMBER|PACKET_LENGTH|HTTP_REQUEST|UNEXPECTED_MESSAGE|BAD_RECORD|RECORD_TOO|RECORD_LAYER/],
];

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : errorText(error);
}

/** Node's short reason of a wrong name lists the names of the certificate. */
function reasonOf(error: unknown): string {
  const { reason } = (error ?? {}) as { reason?: unknown };
  return typeof reason === 'string' ? reason.slice(0, 300) : errorText(error);
}
