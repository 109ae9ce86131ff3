import type { Operation } from './operations.js';
import { errorNumbers, ZooKeeperError } from './zookeeper-error.js';

/** A mechanism of SASL that is in a package of its own, such as Kerberos in `@zookeeper-fair-lock/kerberos`. */
export interface SaslMechanism {
  /** The name of the mechanism in SASL, such as `GSSAPI`. */
  readonly mechanism: string;
  /** Begins the authentication of a new connection. */
  readonly handshake: SaslSource;
}

/** Begins the authentication of a new connection. */
export type SaslSource = (peer: SaslPeer) => SaslHandshake;

/**
 * The authentication of one connection by a mechanism of SASL, after the ConnectResponse and before any other request:
 * the client and the server send each other messages in turn until the server has accepted the account. A message may
 * take time: then its promise rejects if it cannot be made.
 */
export interface SaslHandshake {
  /** The first message. */
  begin(): Buffer | Promise<Buffer>;
  /**
   * Returns the client's next message, or undefined when the server has accepted the account.
   *
   * @param token the server's answer
   * @throws an error that `SaslPeer.refusal` has made, if the server has refused the account, or has no SASL
   */
  next(token: Buffer): Buffer | Promise<Buffer> | undefined;
  /** The text of the error if the server says that it refuses the account. */
  readonly refusedText?: string;
}

/** The other end of a connection that authenticates by SASL. */
export interface SaslPeer {
  /** The host name, or the address, as in the connect string. */
  readonly host: string;
  /** False once the connection has ended: nobody waits for a message any more. */
  readonly isConnected: () => boolean;
  /**
   * Makes the error after which no further attempt follows, unless a session with a hold may still go on.
   *
   * @param why `account`: the server refused the account. `no-sasl`: the server has no SASL. `server`: the server could
   * not prove who it is. `no-ticket`: the client has nothing to show to the server
   */
  refusal(why: 'account' | 'no-sasl' | 'server' | 'no-ticket', text: string): Error;
}

/**
 * Checks the error number of an answer to a message.
 *
 * @throws SaslRefusal with this text if the server has refused the account
 */
export function checkAnswer(error: number, refusal?: string): void {
  if (error === errorNumbers.AUTH_FAILED || error === errorNumbers.SESSION_CLOSED_REQUIRE_SASL_AUTH)
    throw new SaslRefusal('account', refusal);
  if (error !== 0) throw new ZooKeeperError(error, 'sasl', '/');
}

/** A server and this client do not agree on the client's account, of SASL or of another scheme. */
export class SaslRefusal extends Error {
  readonly why: SaslProblem;

  constructor(why: SaslProblem, message: string = problems[why]) {
    super(message);
    this.why = why;
  }
}

/**
 * `account`: the server refused the user name or the password. `no-sasl`: the server has no SASL. `server`: the server
 * does not know the password. `required`: the server serves no client without SASL. `credentials`: the server refused the
 * option `auth`. `no-ticket`: Kerberos gave this client no ticket for the server.
 */
export type SaslProblem = keyof typeof problems;

const problems = {
  account: 'the server refused the user name or the password of the option `sasl`',
  'no-sasl': 'the server has no SASL: its JAAS configuration has no section "Server"',
  server: 'the server could not prove that it knows the password of the option `sasl`',
  required:
    'the server serves only clients that authenticate (error -124): give the option `sasl`, or the credentials or the client certificate that its `enforce.auth.schemes` names',
  credentials: 'the server refused the credentials of the option `auth`',
  'no-ticket': 'Kerberos gave this client no ticket',
} as const;

/** Carries one token of the authentication. */
export function saslToken(token: Buffer): Operation<Buffer> {
  return {
    name: 'sasl',
    opcode: 102,
    kind: 'read',
    path: '/',
    write: (to) => to.bytes(token),
    read: (from) => from.bytes(),
  };
}
