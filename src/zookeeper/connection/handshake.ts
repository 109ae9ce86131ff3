import type { CancelTimer, Clock } from '../../support/clock.js';
import { isError } from '../../support/error-text.js';
import { isPromise } from '../../support/no-context.js';
import type { Host } from '../wire/connect-string.js';
import { readConnectResponse, type ConnectResponse } from '../wire/connect-response.js';
import { closeLateGrant } from './late-grant.js';
import type { Opening } from './opening-messages.js';
import { closeSession, type Operation } from '../wire/operations.js';
import { readReplyHeader, replyBodyAt } from '../wire/replies.js';
import { checkAnswer, SaslRefusal, saslToken, type SaslHandshake, type SaslSource } from '../wire/sasl-handshake.js';
import type { Link } from '../network/network.js';
import { ServerLink, type LinkUser } from './server-link.js';
import { Reader, Writer } from '../wire/wire.js';
import { sessionName } from '../wire/wire-session.js';

/**
 * The steps from a dialled link to a usable session: the link is made (over TLS: secured), the ConnectRequest is sent,
 * the server grants the session, and SASL authenticates. The whole attempt has one time limit, because a server that
 * accepts the connection and never answers would block the client forever.
 */
export class Handshake implements LinkUser {
  readonly #options: HandshakeOptions;
  readonly #listener: HandshakeListener;
  #state: State = { at: 'dialling' };
  #cancelTime: CancelTimer = () => {};
  /** The first message of SASL, if it was made before the ConnectRequest. */
  #prepared: { readonly sasl: SaslHandshake; readonly message: Buffer } | undefined;
  #auth: readonly Uint8Array[] = [];
  #other: Error | undefined;
  readonly link: ServerLink;
  readonly startedAt: number;
  /** The time when the link was made. */
  readyAt = 0;
  /** The time when the ConnectRequest was sent. */
  askedAt = 0;
  wasAccepted = false;

  /** @param socket a socket that is being connected */
  constructor(socket: Link, options: HandshakeOptions, listener: HandshakeListener) {
    this.#options = options;
    this.#listener = listener;
    this.startedAt = options.clock.now();
    this.link = new ServerLink(socket, options.host, this, (message, error) => options.warn(message, error));
    this.#limitTime(options.firstMs);
  }

  get failure(): string {
    return this.wasAccepted && this.#state.at === 'dialling'
      ? 'The request for a session could not be sent'
      : `The answer of ${this.link.server} to the request for a session cannot be used; trying the next server`;
  }

  /** True if the server answered the ConnectRequest. */
  get wasGranted(): boolean {
    return this.#state.at === 'authenticating';
  }

  /** True if the server granted another session than the one that was to be resumed. */
  get grantedOther(): boolean {
    return this.#other !== undefined;
  }

  /** The link was made. Over TLS, it is secured. */
  connected(): void {
    // A server may repeat the handshake of TLS 1.2. A second ConnectRequest would be in the place of a request. After
    // the time of the attempt, a granted session would be thrown away, and would live until its timeout.
    if (this.wasAccepted || this.#state.at !== 'dialling' || !this.link.isOpen) return;
    this.wasAccepted = true;
    this.readyAt = this.#options.clock.now();
    this.link.connected();
    this.link.guard(() => this.#listener.ready(this));
  }

  /**
   * The link waits for `ask`, without a time limit. The first message of SASL is made before: a missing ticket
   * is known while the session's other connection still works. Calls `done` when `ask` may follow.
   */
  prepare(done: () => void): void {
    this.#cancelTime();
    this.#state = { at: 'waiting' };
    const sasl = this.#beginSasl();
    const message = sasl?.begin();
    const made = (first: Buffer | undefined): void => {
      if (sasl && first) this.#prepared = { sasl, message: first };
      this.#cancelTime();
      done();
    };
    if (!isPromise(message)) {
      made(message);
      return;
    }
    this.#limitTime();
    this.#whenMade(message, made);
  }

  /** Sends the ConnectRequest. */
  ask(): void {
    if (this.#state.at === 'waiting') this.#limitTime();
    this.askedAt = this.#options.clock.now();
    const { connectRequest, auth } = this.#options.opening();
    this.#state = { at: 'asking' };
    this.#auth = auth;
    this.link.write(connectRequest);
  }

  /** Ends the attempt. `ended` follows. */
  drop(why: Error): void {
    if (this.#gaveUpAnswer()) this.#options.clock.afterPoll(() => this.#listener.ended(this, why, false));
    else this.link.drop(why);
  }

  /** Ends the attempt. Nobody is told. */
  abandon(): void {
    if (this.#state.at === 'given up' || this.#gaveUpAnswer()) return;
    this.#end();
    this.link.abandon();
  }

  // The methods of LinkUser.

  receive(frame: Buffer): void {
    if (this.#state.at === 'authenticating') this.#authenticate(this.#state, frame);
    else if (this.#state.at !== 'closing') this.#granted(frame);
  }

  ended(error: Error | undefined): void {
    const { wasGranted } = this;
    const closedInSasl =
      this.#state.at === 'authenticating' ? new Error(`${this.link.server} ${closedInSaslText}`) : undefined;
    this.#end();
    this.#listener.ended(this, this.#other ?? error ?? closedInSasl, wasGranted);
  }

  #granted(frame: Buffer): void {
    const response = readConnectResponse(frame);
    if (response.timeoutMs === 0) {
      this.#end();
      this.#listener.expired();
      return;
    }
    const askedFor = this.#options.askedFor();
    // A session keeps its id for life. Under another id, the znodes of the old session would be taken for znodes of the
    // new one.
    if (askedFor !== 0n && response.sessionId !== askedFor) {
      const [granted, asked] = [response.sessionId, askedFor].map(sessionName);
      this.#other = new Error(
        `${this.link.server} does not resume sessions: it granted session ${granted}, but the client asked for session ${asked}`,
      );
      this.#closeUnused();
      return;
    }
    this.#listener.granted(response);
    const sasl = this.#prepared?.sasl ?? this.#beginSasl();
    if (sasl === undefined) {
      this.#established();
      return;
    }
    const state: Authenticating = { at: 'authenticating', sasl, xid: undefined };
    this.#state = state;
    this.#sendToken(state, this.#prepared?.message ?? sasl.begin());
  }

  /** Closes the session that was just granted. The server then ends the link. */
  #closeUnused(): void {
    this.#state = { at: 'closing' };
    this.#write(closeSession());
  }

  #write(operation: Operation<unknown>): number {
    const xid = this.#options.nextXid();
    const message = new Writer().int(xid).int(operation.opcode);
    operation.write(message);
    this.link.write(message.frame());
    return xid;
  }

  #beginSasl(): SaslHandshake | undefined {
    const { sasl, host } = this.#options;
    return sasl?.({
      host: host.host,
      isConnected: () => this.link.isOpen,
      refusal: (why, text) => new SaslRefusal(why, text),
    });
  }

  #sendToken(state: Authenticating, token: Buffer | Promise<Buffer>): void {
    state.xid = undefined;
    if (isPromise(token)) {
      this.#whenMade(token, (made) => this.#sendToken(state, made));
      return;
    }
    state.xid = this.#write(saslToken(token));
  }

  /** Only a mechanism such as Kerberos makes a message that is not there at once. The link may have ended meanwhile. */
  #whenMade(token: Promise<Buffer>, then: (made: Buffer) => void): void {
    const ifOpen = (act: () => void): void => {
      if (this.link.isOpen && this.#state.at !== 'ended') this.link.guard(act);
    };
    token.then(
      (made) => ifOpen(() => then(made)),
      (why: unknown) => ifOpen(() => this.#notMade(why)),
    );
  }

  /** Unless the failure is a refusal, a further attempt may succeed. */
  #notMade(why: unknown): void {
    if (why instanceof SaslRefusal) this.#listener.refused(this, why);
    else this.link.drop(isError(why) ? why : new Error(String(why)));
  }

  #authenticate(state: Authenticating, frame: Buffer): void {
    const { xid, error } = readReplyHeader(frame);
    if (xid !== state.xid)
      throw new Error(
        `The server answered request ${xid}, but ${state.xid === undefined ? 'no answer' : `request ${state.xid}`} was due`,
      );
    const token = error === 0 ? new Reader(frame, replyBodyAt).bytes() : Buffer.alloc(0);
    let next: Buffer | Promise<Buffer> | undefined;
    try {
      checkAnswer(error, state.sasl.refusedText);
      next = state.sasl.next(token);
    } catch (why) {
      if (!(why instanceof SaslRefusal)) throw why;
      this.#listener.refused(this, why);
      return;
    }
    if (next) this.#sendToken(state, next);
    else this.#established();
  }

  #established(): void {
    this.#end();
    this.#listener.established(this, this.#auth);
  }

  #limitTime(attemptMs = this.#options.attemptMs()): void {
    const { clock } = this.#options;
    this.#cancelTime();
    this.#cancelTime = clock.after(attemptMs, () => {
      if (this.#state.at === 'dialling') this.#state = { at: 'late' };
      // After a stall of this process, the answer may lie unread in the socket.
      clock.afterPoll(() => this.#ranOut(attemptMs));
    });
  }

  #ranOut(attemptMs: number): void {
    if (this.#state.at === 'ended' || this.#state.at === 'given up') return;
    const { server } = this.link;
    const waitsForTicket = this.#state.at === 'authenticating' && this.#state.xid === undefined;
    const silent = waitsForTicket ? `The client had no message of SASL for ${server}` : `${server} did not answer`;
    this.#listener.ranOut();
    this.drop(new Error(`${silent} within ${Math.round(attemptMs)} ms, the time of one attempt`));
  }

  /** Returns true if the answer to the ConnectRequest is due: then the link stays for it in the background. */
  #gaveUpAnswer(): boolean {
    if (this.#state.at !== 'asking' || !this.link.isOpen) return false;
    this.#end({ at: 'given up' });
    closeLateGrant(this.link, this.#options.askedFor(), this.#options.clock);
    return true;
  }

  #end(state: State = { at: 'ended' }): void {
    this.#state = state;
    this.#cancelTime();
  }
}

type State =
  | { readonly at: 'dialling' }
  /** The time of the attempt is over, but the answer may lie unread in the socket. */
  | { readonly at: 'late' }
  /** The link is made. The time of the attempt stands still. */
  | { readonly at: 'waiting' }
  | { readonly at: 'asking' }
  /** The session that the server granted is closed. */
  | { readonly at: 'closing' }
  | Authenticating
  /** The answer to the ConnectRequest is no longer waited for. */
  | { readonly at: 'given up' }
  | { readonly at: 'ended' };

interface Authenticating {
  readonly at: 'authenticating';
  readonly sasl: SaslHandshake;
  /** The request whose answer is due. Undefined while the client makes the next message. */
  xid: number | undefined;
}

export interface HandshakeOptions {
  readonly clock: Clock;
  readonly host: Host;
  readonly sasl: SaslSource | undefined;
  /** The length of the attempt, in milliseconds. */
  readonly firstMs: number;
  /** The same for each part after a wait. */
  attemptMs(): number;
  /** The id of the session to resume; 0 for a new one. */
  askedFor(): bigint;
  opening(): Opening;
  nextXid(): number;
  warn(message: string, error: unknown): void;
}

export interface HandshakeListener {
  /** The link was made. `prepare` or `ask` is next. */
  ready(handshake: Handshake): void;
  /** The server granted the session. SASL may follow. */
  granted(response: ConnectResponse): void;
  /** The session can be used. `auth` must be sent first. */
  established(handshake: Handshake, auth: readonly Uint8Array[]): void;
  /** The server said that the session has ended. */
  expired(): void;
  /** The server refuses this client's account. */
  refused(handshake: Handshake, why: SaslRefusal): void;
  /** The attempt took all of its time. `ended` follows. */
  ranOut(): void;
  /** The link ended before the session could be used. */
  ended(handshake: Handshake, error: Error | undefined, wasGranted: boolean): void;
}

const closedInSaslText =
  'closed the connection during the authentication by SASL. ZooKeeper before 3.6 does so if the user name or the password of the option `sasl` is wrong';
