import { isIP } from 'node:net';
import { createSecureContext, type ConnectionOptions } from 'node:tls';
import { askApplication } from '../../support/no-context.js';
import { errorText, isError } from '../../support/error-text.js';
import { expected, expectedKind, expectFunction, isPlainObject } from '../../support/validate.js';
import type { TlsSource } from '../../zookeeper/network/network.js';
import type { ClientLog } from './logger.js';

/**
 * How to connect over TLS: `true` for the certificates that Node.js trusts, the options of `tls.connect` of `node:tls`,
 * or a function that returns them. The function is asked at each connection, so that renewed certificates are used.
 * Host and port come from the connect string.
 *
 * @example
 * const tls: TlsOptions = () => ({
 *   ca: readFileSync('/etc/zookeeper/ca.pem'),
 *   cert: readFileSync('/etc/zookeeper/client.pem'),
 *   key: readFileSync('/etc/zookeeper/client.key'),
 * });
 */
export type TlsOptions = true | ConnectionOptions | (() => true | ConnectionOptions);

/** The option `tls`, checked. */
export interface CheckedTls {
  readonly source: TlsSource;
  /** True if the client may show a certificate to the servers. */
  readonly mayHaveCertificate: boolean;
}

/**
 * Checks options at once, and the result of a function at each call.
 *
 * @throws TypeError for options that cannot be used. The message never shows a value, because it may be a key
 */
export function checkTls(tls: unknown, log: ClientLog): CheckedTls | undefined {
  if (tls === undefined) return undefined;
  const warn = unlessVerified(log);
  if (typeof tls === 'function')
    return {
      source: () => warn(checkOptions('tls()', askApplication(tls as () => unknown))),
      mayHaveCertificate: true,
    };
  const options = checkOptions('tls', tls);
  const { cert, pfx, secureContext } = options;
  // Parsed once: otherwise each connection would parse the certificates again.
  const parsed = { ...options, secureContext: secureContext ?? contextOf('tls', options) };
  return {
    source: () => warn(parsed),
    mayHaveCertificate: cert !== undefined || pfx !== undefined || secureContext !== undefined,
  };
}

function checkOptions(option: string, value: unknown): ConnectionOptions {
  if (value === true) return {};
  if (!isPlainObject(value))
    throw new TypeError(
      `${expectedKind(option, `true or the options of node:tls${option === 'tls' ? ', or a function that returns them' : ''}`, value)}${adviceOn(value)}`,
    );
  // Without the options that are undefined, which would replace the defaults of the client and of Node.js.
  const options: ConnectionOptions & Record<string, unknown> = Object.fromEntries(
    Object.entries(value).filter(([, each]) => each !== undefined),
  );
  const foreign = fromConnectString.find((name) => name in options);
  if (foreign !== undefined)
    throw new TypeError(
      `Unknown option \`${option}.${foreign}\`: the client makes the connection, to the hosts of the connect string`,
    );
  for (const name of inPem) checkPem(`${option}.${name}`, options[name]);
  if ((options.cert === undefined) !== (options.key === undefined) && options.pfx === undefined)
    throw new TypeError(`Expected \`${option}.cert\` and \`${option}.key\` together, got only one of them`);
  const { servername, rejectUnauthorized, passphrase, checkServerIdentity } = options;
  // The error of Node.js would show a number.
  if (passphrase !== undefined && typeof passphrase !== 'string')
    throw new TypeError(`Expected \`${option}.passphrase\` to be a string, got a value of type ${typeof passphrase}`);
  if (servername !== undefined && (typeof servername !== 'string' || isIP(servername) !== 0))
    throw new TypeError(
      expected(`${option}.servername`, 'a host name, because TLS sends no IP address as a name', servername),
    );
  if (rejectUnauthorized !== undefined && typeof rejectUnauthorized !== 'boolean')
    throw new TypeError(expected(`${option}.rejectUnauthorized`, 'true or false', rejectUnauthorized));
  if (checkServerIdentity === undefined) return options;
  expectFunction(`${option}.checkServerIdentity`, checkServerIdentity);
  return { ...options, checkServerIdentity: asked(checkServerIdentity) };
}

/** Node.js calls the function in an event of the socket, where an error would end the process. */
function asked(check: CheckServerIdentity): CheckServerIdentity {
  return (host, certificate) => {
    try {
      return askApplication(check, host, certificate);
    } catch (error) {
      return isError(error) ? error : new Error(errorText(error));
    }
  };
}

type CheckServerIdentity = NonNullable<ConnectionOptions['checkServerIdentity']>;

/** The options that would connect to another place. */
const fromConnectString = ['host', 'port', 'path', 'socket', 'lookup', 'isServer'];

const inPem = ['ca', 'cert', 'key'] as const;

/** The most frequent mistake is the name of a file in place of its content. */
function checkPem(option: string, value: unknown): void {
  for (const each of (Array.isArray(value) ? value : [value]) as unknown[]) {
    if (typeof each === 'string' && !each.includes('-----BEGIN'))
      throw new TypeError(
        `Expected \`${option}\` to be the content of a PEM file, got a string without "-----BEGIN". Read the file: readFileSync(name)`,
      );
  }
}

function contextOf(option: string, options: ConnectionOptions): ReturnType<typeof createSecureContext> {
  try {
    return createSecureContext(options);
  } catch (error) {
    throw new TypeError(`Expected \`${option}\` to be options that node:tls accepts: ${errorText(error)}`, {
      cause: error,
    });
  }
}

function unlessVerified(log: ClientLog): (options: ConnectionOptions) => ConnectionOptions {
  let isTold = false;
  return (options) => {
    if (options.rejectUnauthorized === false && !isTold) {
      isTold = true;
      log.warn(
        'The option tls.rejectUnauthorized is false: the client accepts every certificate, so another machine can pose as the servers. Give the authority of the servers in tls.ca instead',
      );
    }
    return options;
  };
}

function adviceOn(value: unknown): string {
  return typeof value === 'object' && value !== null && 'then' in value
    ? '. It must return the options at once: read the files with readFileSync'
    : '';
}
