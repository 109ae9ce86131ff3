import type { Operation } from './operations.js';
import { ZooKeeperError } from './zookeeper-error.js';

/**
 * The authentication of one connection by a mechanism of SASL, after the ConnectResponse and before any other request:
 * the client and the server send each other messages in turn until the server has accepted the account.
 */
export interface SaslHandshake {
  /** The first message. */
  begin(): SaslMessage;
  /**
   * Returns the client's next message, or undefined when the server has accepted the account.
   *
   * @param error the error number of the server's answer
   * @throws SaslRefusal if the server has refused the account, or has no SASL. A promise rejects with it
   */
  next(error: number, token: Buffer): SaslMessage | undefined;
}

/** A message that is known at once, or one that Kerberos has to make. */
export type SaslMessage = Buffer | Promise<Buffer>;

/** Begins the authentication of a new connection. */
export type SaslSource = (peer: SaslPeer) => SaslHandshake;

/** The other end of a connection that authenticates by SASL. */
export interface SaslPeer {
  /** The host name, or the address, as in the connect string. */
  readonly host: string;
  /** False once the connection has ended: nobody waits for a message any more. */
  readonly isConnected: () => boolean;
}

/**
 * Checks the error number of an answer to a message.
 *
 * @throws SaslRefusal with this text if the server has refused the account
 */
export function checkAnswer(error: number, refusal?: string): void {
  if (error === authFailedError || error === requiredError) throw new SaslRefusal('account', refusal);
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

const authFailedError = -115;

/** ZooKeeper's SESSION_CLOSED_REQUIRE_SASL_AUTH. */
export const requiredError = -124;
