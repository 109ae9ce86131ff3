import { answerChallenge, isConfirmed, type DigestAnswer, type SaslAccount } from './digest-md5.js';
import type { Operation } from './operations.js';
import { ZooKeeperError } from './zookeeper-error.js';

/**
 * The authentication of one connection by SASL's mechanism DIGEST-MD5, after the ConnectResponse and before any other
 * request: the client sends an empty token, the server answers with a challenge, and confirms the client's answer.
 */
export class SaslHandshake {
  readonly #login: SaslLogin;
  #state: State = { at: 'beginning' };

  constructor(login: SaslLogin) {
    this.#login = login;
  }

  /** The first message. In DIGEST-MD5 the server speaks first, so it is empty. */
  begin(): Buffer {
    return Buffer.alloc(0);
  }

  /**
   * Returns the client's next message, or undefined when the server has accepted the account.
   *
   * @param error the error number of the server's answer
   * @throws SaslRefusal if the server has refused the account, or has no SASL
   */
  next(error: number, token: Buffer): Buffer | undefined {
    if (error === authFailedError || error === requiredError) throw new SaslRefusal('account');
    if (error !== 0) throw new ZooKeeperError(error, 'sasl', '/');
    if (this.#state.at === 'beginning') {
      // A server without a JAAS configuration answers with a null token.
      if (token.length === 0) throw new SaslRefusal('no-sasl');
      const answer = answerChallenge(token, this.#login, this.#login.uuid());
      this.#state = { at: 'answered', answer };
      return answer.token;
    }
    // With `allowSaslFailedClients`, a server keeps the connection of a client that it has refused, without the account.
    if (token.length === 0) throw new SaslRefusal('account');
    if (!isConfirmed(token, this.#state.answer)) throw new SaslRefusal('server');
    return undefined;
  }
}

/** An account, and the source of a text that was never used before. */
export interface SaslLogin extends SaslAccount {
  readonly uuid: () => string;
}

type State = { readonly at: 'beginning' } | { readonly at: 'answered'; readonly answer: DigestAnswer };

/** A server and this client do not agree on the client's account, of SASL or of another scheme. */
export class SaslRefusal extends Error {
  readonly why: SaslProblem;

  constructor(why: SaslProblem) {
    super(problems[why]);
    this.why = why;
  }
}

/**
 * `account`: the server refused the user name or the password. `no-sasl`: the server has no SASL. `server`: the server
 * does not know the password. `required`: the server serves no client without SASL. `credentials`: the server refused the
 * option `auth`.
 */
export type SaslProblem = keyof typeof problems;

const problems = {
  account: 'the server refused the user name or the password of the option `sasl`',
  'no-sasl': 'the server has no SASL: its JAAS configuration has no section "Server"',
  server: 'the server could not prove that it knows the password of the option `sasl`',
  required:
    'the server serves only clients that authenticate (error -124): give the option `sasl`, or the credentials or the client certificate that its `enforce.auth.schemes` names',
  credentials: 'the server refused the credentials of the option `auth`',
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
