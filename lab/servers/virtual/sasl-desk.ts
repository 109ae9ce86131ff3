import type { Writable } from 'node:stream';
import { answerChallenge } from '../../../src/zookeeper/wire/digest-md5.ts';

/**
 * The server's side of DIGEST-MD5 on one connection: it answers the tokens, and passes all other frames on. It gives the
 * client no identity, so no ACL can name the account: what needs that belongs into test/contract.
 */
export class SaslDesk {
  readonly #accounts: Readonly<Record<string, string>>;
  readonly #client: Writable;
  readonly #server: Writable;
  #unread = Buffer.alloc(0);
  #state: { at: 'session' } | { at: 'beginning' } | { at: 'challenged'; challenge: Buffer } | { at: 'over' } = {
    at: 'session',
  };

  constructor(accounts: Readonly<Record<string, string>>, client: Writable, server: Writable) {
    this.#accounts = accounts;
    this.#client = client;
    this.#server = server;
  }

  receive(chunk: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    for (;;) {
      const length = this.#unread.length < 4 ? Infinity : 4 + this.#unread.readInt32BE(0);
      if (this.#unread.length < length) return;
      const frame = this.#unread.subarray(0, length);
      this.#unread = this.#unread.subarray(length);
      // The ConnectRequest has neither an xid nor a type.
      if (this.#state.at === 'session') this.#state = { at: 'beginning' };
      else if (frame.readInt32BE(8) === saslType) {
        this.#answer(frame.readInt32BE(4), frame.subarray(16));
        continue;
      }
      this.#server.write(frame);
    }
  }

  #answer(xid: number, token: Buffer): void {
    if (this.#state.at === 'beginning') {
      const challenge = Buffer.from(
        `realm="zk-sasl-md5",nonce="${(nonces += 1)}",qop="auth",charset=utf-8,algorithm=md5-sess`,
      );
      this.#state = { at: 'challenged', challenge };
      this.#client.write(reply(xid, challenge));
      return;
    }
    const confirmation = this.#state.at === 'challenged' ? this.#check(this.#state.challenge, token) : undefined;
    this.#state = { at: 'over' };
    if (confirmation !== undefined) this.#client.write(reply(xid, Buffer.from(`rspauth=${confirmation}`)));
    else this.#client.end(reply(xid, undefined));
  }

  /** The proof that this server knows the password too; undefined if the client does not. */
  #check(challenge: Buffer, token: Buffer): string | undefined {
    const text = token.toString('utf8');
    const valueOf = (field: string): string =>
      (new RegExp(`\\b${field}="((?:[^"\\\\]|\\\\.)*)"`).exec(text)?.[1] ?? '').replaceAll(/\\(.)/g, '$1');
    const username = valueOf('username');
    if (!Object.hasOwn(this.#accounts, username)) return undefined;
    const expected = answerChallenge(
      challenge,
      { username, password: this.#accounts[username] ?? '' },
      valueOf('cnonce'),
    );
    return expected.token.equals(token) ? expected.confirmation : undefined;
  }
}

const saslType = 102;
const authFailed = -115;
let nonces = 0;

/** @param token undefined if the account is refused */
function reply(xid: number, token: Buffer | undefined): Buffer {
  const head = Buffer.alloc(token ? 24 : 20);
  head.writeInt32BE(head.length - 4 + (token?.length ?? 0), 0);
  head.writeInt32BE(xid, 4);
  head.writeInt32BE(token ? 0 : authFailed, 16);
  if (token) head.writeInt32BE(token.length, 20);
  return Buffer.concat([head, token ?? Buffer.alloc(0)]);
}
