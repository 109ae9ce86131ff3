import type { Credential } from '../../zookeeper/connection/connection-options.js';
import { describeHosts, type ConnectString } from '../../zookeeper/wire/connect-string.js';
import { durationText } from './duration-text.js';
import { errorText } from '../../support/error-text.js';
import { LockError } from '../../support/lock-error.js';
import { SaslRefusal } from '../../zookeeper/wire/sasl-handshake.js';
import {
  neededServers,
  type UnknownRequestError,
  unknownRequestIn,
  ZooKeeperError,
} from '../../zookeeper/wire/zookeeper-error.js';

/**
 * No server answered within `connectionTimeoutMs`. The message names the reason for each server. `cause` is the last
 * socket error, if any.
 */
export class ConnectionTimeoutError extends LockError {
  static {
    this.prototype.name = 'ConnectionTimeoutError';
  }

  /** @param failures the error of each server by `host:port`; undefined for a server that has not answered yet */
  constructor(
    hosts: string,
    timeoutMs: number,
    cause: unknown,
    failures: ReadonlyMap<string, unknown> = new Map(),
    port: 'clientPort' | 'secureClientPort' = 'clientPort',
  ) {
    const last = lastText(failures, cause);
    super(
      'ERR_LOCK_CONNECTION_TIMEOUT',
      `${serverOf(hosts)} answered within ${timeoutMs} ms; last: ${last}${/[.?!]$/.test(last) ? '' : '.'} ` +
        (timeoutMs < shortMs
          ? `The option connectionTimeoutMs allowed only ${timeoutMs} ms; its default is 15000. `
          : '') +
        ([cause, ...failures.values()].some(unknownRequestIn) ? `${neededServers}. ` : '') +
        (hosts === ''
          ? 'The function must return a connect string, or a promise of one, within that time'
          : `Check that ZooKeeper runs there, and that host and port are those of its ${port}`),
      { cause },
    );
  }
}

/** The text for a connect that has no answer yet and goes on, in the words of {@link ConnectionTimeoutError}. */
export function connectingText(
  hosts: string,
  { forMs, leftMs }: { readonly forMs: number; readonly leftMs: number },
  failures: ReadonlyMap<string, unknown>,
  cause: unknown,
): string {
  const goesOn = leftMs === Infinity ? 'goes on' : `tries for ${durationText(leftMs)} more`;
  return `${serverOf(hosts)} has answered for ${durationText(forMs)}; last: ${lastText(failures, cause)}. The client ${goesOn}`;
}

/** @param hosts '' if the function that names them has not returned yet */
function serverOf(hosts: string): string {
  return `No ZooKeeper server${hosts === '' ? '' : ` of ${hosts}`}`;
}

function lastText(failures: ReadonlyMap<string, unknown>, cause: unknown): string {
  return failuresText(failures) ?? (cause === undefined ? 'none of them answered' : errorText(cause));
}

/** A connection through a slow network may take longer than this. */
const shortMs = 250;

/** The error of each server, as one text. Undefined for less than two servers. */
export function failuresText(failures: ReadonlyMap<string, unknown>): string | undefined {
  if (failures.size < 2) return undefined;
  return Array.from(
    failures,
    ([server, error]) => `${server}: ${error === undefined ? 'has not answered yet' : errorText(error)}`,
  ).join('; ');
}

/**
 * The servers refused the credentials of the option `auth`, or the account of the option `sasl`; or this client has
 * nothing to show to them, such as a Kerberos ticket.
 */
export class AuthFailedError extends LockError {
  static {
    this.prototype.name = 'AuthFailedError';
  }

  /**
   * @param schemes the schemes of the given credentials
   * @param refusal the reason, if SASL failed; it is the `cause`
   */
  constructor(hosts: string, schemes: readonly string[] = [], refusal?: Error) {
    super(
      'ERR_LOCK_AUTH_FAILED',
      refusal ? refusedBySasl(hosts, refusal) : refusedByScheme(hosts, schemes),
      refusal && { cause: refusal },
    );
  }
}

/** The error of a session that the servers refused. */
export function authFailed(
  target: ConnectString,
  { auth }: { readonly auth: () => readonly Credential[] },
  servers: Refused,
): AuthFailedError {
  const schemes = auth().map(({ scheme }) => scheme);
  return new AuthFailedError(describeHosts(target), schemes, saslRefusal(servers));
}

/** Why the servers refused the account of the option `sasl`, or a client without one. */
export function saslRefusal({ refusal }: Refused): SaslRefusal | undefined {
  return refusal?.why === 'credentials' ? undefined : refusal;
}

/** Why the servers refused the account of a session. */
interface Refused {
  readonly refusal: SaslRefusal | undefined;
}

function refusedBySasl(hosts: string, refusal: Error): string {
  const { message } = refusal;
  if (refusal instanceof SaslRefusal && refusal.why === 'no-ticket')
    return `This client cannot authenticate to the servers ${hosts}: ${message}`;
  return `The servers ${hosts} refused this client: ${message}`;
}

function refusedByScheme(hosts: string, schemes: readonly string[]): string {
  const of =
    schemes.length > 0
      ? ` of scheme ${[...new Set(schemes)].map((scheme) => JSON.stringify(scheme)).join(' or ')}`
      : '';
  return `The servers ${hosts} refused the credentials${of}. Check the option \`auth\`: the servers must know the scheme ("digest" is built in), and must accept the credentials`;
}

/** ZooKeeper refused a request for a reason that a retry does not remove. `cause` is the ZooKeeperError. */
export class RequestFailedError extends LockError {
  /** The operation that ZooKeeper refused, for a transaction of a hold; else undefined. */
  readonly operation: FailedOperation | undefined;

  static {
    this.prototype.name = 'RequestFailedError';
  }

  /** @param advice the meaning of the refusal, and what to do about it */
  constructor(what: string, cause: Error, advice?: string, operation?: FailedOperation) {
    super('ERR_LOCK_REQUEST_FAILED', `${what}: ${cause.message}${advice === undefined ? '' : `: ${advice}`}`, {
      cause,
    });
    this.operation = operation;
  }
}

/** An operation of a transaction that ZooKeeper refused. */
export interface FailedOperation {
  /** The number of operations that were added before it. */
  readonly index: number;
  /** The method that added it. */
  readonly name: 'create' | 'setData' | 'delete' | 'check';
  /** The path that the method got. */
  readonly path: string;
}

/** The error of a client whose servers do not know a request that every lock needs. */
export function unusableServers(target: ConnectString, why: UnknownRequestError): RequestFailedError {
  const cause = new ZooKeeperError(why.number, why.operation, '/', { cause: why });
  const advice = `${why.message}. ${why.cure}`;
  return new RequestFailedError(`The servers ${describeHosts(target)} cannot serve locks`, cause, advice);
}

/** The client was closed before the call, or during it. */
export class ClientClosedError extends LockError {
  static {
    this.prototype.name = 'ClientClosedError';
  }

  constructor(what: string) {
    super('ERR_LOCK_CLIENT_CLOSED', `The client is closed: ${what}. Use another client, from LockClient.connect()`);
  }
}

/** The cause of a LockLostError: the session that has ended, on the server's answer or at its deadline. */
export class SessionExpiredError extends LockError {
  static {
    this.prototype.name = 'SessionExpiredError';
  }

  constructor(sessionId: string) {
    super('ERR_LOCK_SESSION_EXPIRED', `The ZooKeeper session ${sessionId} has ended, or may have ended`);
  }
}
