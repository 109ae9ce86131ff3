import { answerChallenge, isConfirmed, type DigestAnswer, type SaslAccount } from './digest-md5.js';
import { SaslRefusal, type SaslHandshake } from './sasl-handshake.js';

/**
 * The mechanism DIGEST-MD5: the client sends an empty message, the server answers with a challenge, and confirms the
 * client's answer.
 */
export class DigestMd5Handshake implements SaslHandshake {
  readonly #login: DigestLogin;
  #state: State = { at: 'beginning' };

  constructor(login: DigestLogin) {
    this.#login = login;
  }

  /** In DIGEST-MD5 the server speaks first, so the message is empty. */
  begin(): Buffer {
    return Buffer.alloc(0);
  }

  next(token: Buffer): Buffer | undefined {
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
export interface DigestLogin extends SaslAccount {
  readonly uuid: () => string;
}

type State = { readonly at: 'beginning' } | { readonly at: 'answered'; readonly answer: DigestAnswer };
