import type { Clock } from '../support/clock.js';
import type { ConnectResponse } from './connect-response.js';
import type { Host } from './connect-string.js';
import { Dialler } from './dialler.js';
import type { Handshake } from './handshake.js';
import type { HostHistory } from './host-history.js';
import type { Network, TlsSource } from './network.js';
import { openingMessages } from './opening-messages.js';
import type { Operation, WatchEventType, WatchKind } from './operations.js';
import { Pipeline } from './pipeline.js';
import { connectionLost, type Call, type Caller, type Reply } from './replies.js';
import type { SaslRefusal, SaslSource } from './sasl-handshake.js';
import { SecondLink } from './second-link.js';
import type { ServerLink } from './server-link.js';
import { ServerTraits } from './server-traits.js';
import { explainTls } from './tls-error.js';
import { renewWatches } from './watch-renewal.js';

/** One ZooKeeper session over one connection after another. */
export class Connection {
  readonly #listener: ConnectionListener;
  readonly #options: ConnectionOptions;
  readonly #createdAt: number;
  readonly #dialler: Dialler;
  readonly #traits: ServerTraits;
  /** True once a server granted the session to this process, or the session is one to resume. */
  #wasGranted: boolean;
  #state: State = { at: 'connecting', handshake: undefined };
  #id: Buffer;
  #password: Buffer;
  #lastZxid: bigint;
  #xid: number;
  /** The timeout that the last server granted, in milliseconds. Before the first grant: the one to ask for. */
  timeoutMs: number;
  /** The time of the last answer to a request or a ping. */
  heardAt = 0;
  /** The time of the last answer to a request. */
  answeredAt = 0;
  /** The reason why the last connection or attempt ended, for the error that a user sees. */
  lastError: unknown;

  constructor(options: ConnectionOptions, listener: ConnectionListener) {
    this.#options = options;
    this.#listener = listener;
    this.#createdAt = options.clock.now();
    this.#traits = options.traits ?? new ServerTraits(() => options.clock.now());
    this.#wasGranted = options.resume !== undefined;
    const { id = Buffer.alloc(8), password = Buffer.alloc(16), lastZxid = 0n } = options.resume ?? {};
    this.#id = id;
    this.#password = password;
    this.#lastZxid = lastZxid;
    this.timeoutMs = options.sessionTimeoutMs;
    this.#xid = options.firstXid ?? 1;
    this.#dialler = new Dialler({
      ...options,
      sasl: options.sasl,
      attemptMs: (unansweredRounds, measuredMs) => listener.attemptMs(unansweredRounds, measuredMs),
      askedFor: () => this.sessionId,
      opening: () => openingMessages({ identity: this.identity, timeoutMs: this.timeoutMs, auth: options.auth }),
      nextXid: () => this.#nextXid(),
      warn: (message, error) => listener.warn(message, error),
    });
  }

  /** Dials the first server. */
  connect(): void {
    this.#dialNext();
  }

  get isConnected(): boolean {
    return this.#state.at === 'connected';
  }

  get identity(): SessionIdentity {
    return { id: this.#id, password: this.#password, lastZxid: this.#lastZxid };
  }

  get sessionId(): bigint {
    return this.#id.readBigInt64BE();
  }

  get lastZxid(): bigint {
    return this.#lastZxid;
  }

  /** `host:port` of the last connection or attempt. */
  get server(): string {
    return this.#dialler.server;
  }

  /** The record of the hosts since one of them served the session. */
  get history(): HostHistory {
    return this.#dialler.history;
  }

  /** The number of requests that may be sent now. Further ones would wait in the process. */
  get room(): number {
    return this.#state.at === 'connected' && this.#state.second?.isExchanging !== true ? this.#state.pipeline.room : 0;
  }

  /** The time since which the server owes the next answer. Undefined if it owes none. */
  get unansweredSince(): number | undefined {
    return this.#state.at === 'connected' ? this.#state.pipeline.unansweredSince : undefined;
  }

  /**
   * Sends a request on this connection, or fails it. No request is kept for a later connection, because it could be
   * executed long after its caller gave up. The requests that are made while `attach` exchanges the connections are the
   * only exception: they are sent, in their order, on the connection that stays.
   */
  send<T>(operation: Operation<T>): Promise<Reply<T>> {
    return new Promise((resolve, reject) => this.#send({ operation, caller: { resolve, reject } as Caller }));
  }

  #send(call: Call): void {
    const state = this.#state;
    if (state.at !== 'connected') {
      call.operation.beforeWrite?.();
      call.caller.reject(connectionLost(call.operation, this.lastError));
    } else if (state.second?.holdsBack(call) !== true) {
      state.pipeline.send(call);
    }
  }

  /** Sends a ping, unless the server still owes the answer to the last one. It writes no transaction. */
  ping(): void {
    const state = this.#state;
    if (state.at === 'connected' && !state.second) state.pipeline.ping();
  }

  /**
   * Attaches to the session anew: dials the same server a second time, and lets the new connection take the place of the
   * present one as soon as the server has granted the session on it. The requests in flight are answered first, for at
   * most `drainMs`. If the new connection fails, the present one stays.
   */
  attach(drainMs: number): void {
    const state = this.#state;
    if (state.at !== 'connected' || state.second) return;
    const second = new SecondLink(state.pipeline, this.#options.clock, drainMs);
    state.second = second;
    second.handshake = this.#dialler.again(state.pipeline.link, {
      ready: () => second.made(),
      granted: (response) => this.#granted(response),
      established: (handshake, auth) => this.#exchanged(second, handshake, auth),
      expired: () => this.#expired(),
      refused: (handshake, why) => this.#refusedBeside(handshake, why),
      ranOut: () => {},
      ended: (handshake, error, wasGranted) => this.#secondEnded(second, handshake, error, wasGranted),
    });
  }

  /** Stops attaching, unless the server was asked already. The present connection stays. */
  stopAttaching(): void {
    const state = this.#state;
    if (state.at !== 'connected' || state.second?.mayStop !== true) return;
    state.second.abandon();
    this.#stay(state, state.second);
  }

  /** Ends this connection. The next server is tried at once. */
  drop(why: Error): void {
    const state = this.#state;
    if (state.at === 'connecting') state.handshake?.link.drop(why);
    else if (state.at === 'connected') state.pipeline.link.drop(why);
  }

  /**
   * Ends the connection for good, without a message to the server. The session stays on the servers until it expires.
   */
  abandon(): void {
    const state = this.#state;
    this.#state = { at: 'closed' };
    this.#dialler.stop();
    if (state.at === 'connecting') state.handshake?.abandon();
    if (state.at !== 'connected') return;
    state.second?.abandon();
    state.pipeline.link.abandon();
    this.#failAll(state);
  }

  #dialNext(): void {
    // A listener of the disconnection may have abandoned the connection.
    if (this.#state.at === 'closed') return;
    this.#state = { at: 'connecting', handshake: undefined };
    this.#dialler.next(
      {
        ready: (handshake) => handshake.ask(),
        granted: (response) => this.#granted(response),
        established: (handshake, auth) => this.#established(handshake, auth, []),
        expired: () => this.#expired(),
        refused: (handshake, why) => this.#refused(why, handshake.link),
        ranOut: () => this.history.ranOut(),
        ended: (handshake, error, wasGranted) => this.#attemptEnded(handshake, error, wasGranted),
      },
      (handshake) => {
        this.#state = { at: 'connecting', handshake };
      },
      (why) =>
        this.#dialNextAfter(() => this.#failed(why, { startedAt: this.#options.clock.now(), wasAccepted: false })),
    );
  }

  #granted({ sessionId, password, timeoutMs }: ConnectResponse): void {
    this.#id = Buffer.alloc(8);
    this.#id.writeBigInt64BE(sessionId);
    this.#password = password;
    this.timeoutMs = timeoutMs;
  }

  /** The accounts go out first, then the watches and the requests of the listener, and then those that were held back. */
  #established(handshake: Handshake, auth: readonly Uint8Array[], heldBack: readonly Call[]): void {
    // Not at the ConnectResponse: otherwise no attempt would ever be long enough for a slow authentication.
    this.#dialler.granted(handshake);
    if (this.#wasGranted) this.#traits.resumed();
    this.#wasGranted = true;
    this.lastError = undefined;
    const pipeline = this.#pipelineOn(handshake);
    this.#state = { at: 'connected', pipeline, second: undefined };
    for (const message of auth) pipeline.link.write(message);
    try {
      this.#renewWatches();
      this.#listener.connected(handshake.askedAt);
    } finally {
      this.#sendAll(heldBack);
    }
    if (!pipeline.isEnded) pipeline.flush();
    this.#listener.roomMade();
  }

  #pipelineOn({ link }: Handshake): Pipeline {
    const { clock, random, chroot } = this.#options;
    const listener = this.#listener;
    return new Pipeline(
      link,
      { clock, random, chroot, traits: this.#traits, timeoutMs: () => this.timeoutMs, nextXid: () => this.#nextXid() },
      {
        heard: (zxid) => this.#heard(zxid),
        answered: (operation, sentAt, error) => {
          // Not at an answer that ends the connection: a server that ends every connection would be dialled without a
          // pause.
          if (error === 0) this.history.served();
          listener.answered(operation, sentAt, error);
        },
        pinged: (sentAt) => {
          this.heardAt = clock.now();
          this.history.served();
          listener.pinged(sentAt);
        },
        watchFired: (path, event) => listener.watchFired(path, event),
        refused: (why) => this.#refused(why, link),
        idle: () => {
          if (this.#state.at === 'connected') this.#state.second?.drained();
        },
        roomMade: () => listener.roomMade(),
        ended: (pipeline, error) => this.#pipelineEnded(pipeline, error),
      },
    );
  }

  /**
   * An error reply carries the zxid -1 or 0. If the client handed that to the next server, a server that lags behind
   * would accept the client.
   */
  #heard(zxid: bigint): void {
    this.answeredAt = this.#options.clock.now();
    this.heardAt = this.answeredAt;
    if (zxid > this.#lastZxid) this.#lastZxid = zxid;
  }

  #exchanged(second: SecondLink, handshake: Handshake, auth: readonly Uint8Array[]): void {
    const state = this.#state;
    if (state.at !== 'connected' || state.second !== second) return;
    state.pipeline.link.abandon();
    state.pipeline.fail(this.lastError);
    this.#established(handshake, auth, second.heldBack);
  }

  /** The second connection failed. If the present one stands, it goes on. */
  #secondEnded(second: SecondLink, handshake: Handshake, error: Error | undefined, wasGranted: boolean): void {
    const state = this.#state;
    if (state.at !== 'connected' || state.second !== second) return;
    second.abandon();
    if (handshake.grantedOther) this.#traits.grantedOther();
    if (!state.pipeline.isEnded) {
      this.#stay(state, second);
      this.#listener.attachFailed();
      return;
    }
    this.#attemptFailed(handshake, error, wasGranted);
    this.#disconnected(state);
  }

  /** The present connection stays, and sends what was held back. */
  #stay(state: Connected, second: SecondLink): void {
    state.second = undefined;
    this.#sendAll(second.heldBack);
    this.#listener.roomMade();
  }

  #sendAll(calls: readonly Call[]): void {
    for (const call of calls) {
      try {
        this.#send(call);
      } catch (error) {
        call.caller.reject(error);
      }
    }
  }

  #attemptEnded(handshake: Handshake, error: Error | undefined, wasGranted: boolean): void {
    const state = this.#state;
    if (state.at !== 'connecting' || state.handshake !== handshake) return;
    if (handshake.grantedOther && this.#traits.grantedOther()) {
      this.#listener.warn('The session has ended, and the client goes on in a new one', error);
      this.#expired();
      return;
    }
    this.#dialNextAfter(() => this.#attemptFailed(handshake, error, wasGranted));
  }

  #dialNextAfter(fail: () => void): void {
    try {
      fail();
      this.#listener.disconnected();
    } finally {
      this.#dialNext();
    }
  }

  #attemptFailed(handshake: Handshake, ended: Error | undefined, wasGranted: boolean): void {
    const { link, startedAt, wasAccepted } = handshake;
    const error = ended ?? new Error(`${link.server} closed the connection${this.#guess}`);
    if (wasAccepted) this.#dialler.avoid(link);
    // A session that is resumed only to be closed must not be resumed without end, because each ConnectRequest extends
    // it.
    const isUnanswered = !wasGranted || this.#options.resume !== undefined;
    this.#failed(
      this.#options.tls ? explainTls(error, link.host, wasAccepted) : error,
      isUnanswered ? { startedAt, wasAccepted } : undefined,
    );
  }

  #failed(why: unknown, unanswered: UnansweredAttempt | undefined): void {
    this.lastError = why;
    this.history.failed(this.server, why);
    if (this.#isRefusedForGood) this.#authFailed();
    else if (unanswered) this.#listener.unanswered(unanswered);
  }

  #pipelineEnded(pipeline: Pipeline, ended: Error | undefined): void {
    const state = this.#state;
    if (state.at !== 'connected' || state.pipeline !== pipeline) return;
    // The server itself ends the old connection of a session that attaches anew.
    if (state.second?.mayStop === false) {
      pipeline.fail(this.lastError);
      return;
    }
    this.lastError = ended ?? new Error(`${pipeline.link.server} closed the connection`);
    this.history.failed(pipeline.link.server, this.lastError);
    if (this.heardAt < this.#dialler.grantedAt) this.#dialler.avoid(pipeline.link);
    this.#suspect(pipeline);
    if (!state.second) {
      this.#disconnected(state);
      return;
    }
    pipeline.fail(this.lastError);
    state.second.drained();
  }

  /** A server that ends each connection on which it gets an operation does not get that operation any more. */
  #suspect({ oldestUnanswered, link }: Pipeline): void {
    if (oldestUnanswered === undefined || link.wasDropped || !this.#traits.endedAt(oldestUnanswered)) return;
    const consequence = consequences[oldestUnanswered] ?? 'Such requests fail. ZooKeeper 3.5 or later is needed';
    this.#listener.warn(
      `${link.server} ends each connection on which it gets the request ${oldestUnanswered}. ${consequence}`,
      undefined,
    );
  }

  #disconnected(state: Connected): void {
    if (this.#state.at === 'closed') return;
    this.#state = { at: 'connecting', handshake: undefined };
    try {
      this.#failAll(state);
      this.#listener.disconnected();
    } finally {
      this.#dialNext();
    }
  }

  #failAll({ pipeline, second }: Connected): void {
    pipeline.fail(this.lastError);
    for (const { operation, caller } of second?.heldBack ?? [])
      caller.reject(connectionLost(operation, this.lastError));
  }

  #expired(): void {
    this.abandon();
    this.#listener.expired();
  }

  #authFailed(): void {
    this.abandon();
    this.#listener.authFailed();
  }

  /** The server refuses this client's account. The next server may have another configuration. */
  #refused(why: SaslRefusal, link: ServerLink): void {
    const { server, address } = link;
    this.lastError = why;
    this.#dialler.avoid(link);
    const isFirst = this.history.refused(server, why, address);
    if (this.#isRefusedForGood) {
      this.#authFailed();
      return;
    }
    // The end of a connection is reported anyway. A refusal by SASL comes before there is one.
    if (isFirst && !this.isConnected) this.#listener.warn(`${refusalText(server, why)}; trying the next server`, why);
    link.drop(why);
  }

  #refusedBeside(handshake: Handshake, why: SaslRefusal): void {
    // Before the ConnectRequest, only Kerberos' ticket can be missing. The present connection needs none.
    if (handshake.wasGranted) this.#refused(why, handshake.link);
    else handshake.link.drop(why);
  }

  get #isRefusedForGood(): boolean {
    return this.history.isRefusedForGood({
      now: this.#options.clock.now(),
      heardAt: this.heardAt,
      createdAt: this.#createdAt,
      timeoutMs: this.timeoutMs,
    });
  }

  /** The reason why a server may close the first connection of a client without an answer. */
  get #guess(): string {
    if (this.#options.tls || this.sessionId !== 0n) return '';
    return ' without an answer. If this is its secureClientPort, set the option `tls`';
  }

  #renewWatches(): void {
    renewWatches({
      since: this.#lastZxid,
      chrootBytes: Buffer.byteLength(this.#options.chroot),
      oneByOne: this.#traits.endsConnections('setWatches'),
      paths: (kind) => this.#listener.watchedPaths(kind),
      send: (operation) => this.send(operation),
      fired: (path, event) => this.#listener.watchFired(path, event),
      // Without its watches, a session would wait forever. Try the next server.
      failed: (error) => this.drop(error),
    });
  }

  #nextXid(): number {
    const xid = this.#xid;
    this.#xid = xid < 0x7fffffff ? xid + 1 : 1;
    return xid;
  }
}

/** An account of the client on the servers, as in ZooKeeper's `addauth`. */
export interface Credential {
  /** The servers' method to check the account, such as `digest`. */
  readonly scheme: string;
  /** The secret in the form of the scheme, such as `user:password` for `digest`. */
  readonly credentials: string;
}

/** The name of a session on the servers. It is enough to attach to the session from another connection. */
export interface SessionIdentity {
  readonly id: Buffer;
  readonly password: Buffer;
  readonly lastZxid: bigint;
}

export interface ConnectionOptions {
  readonly hosts: readonly Host[];
  /**
   * The prefix of every path on the servers; '' for none. Requests, answers and watch events have the paths below it.
   */
  readonly chroot: string;
  readonly sessionTimeoutMs: number;
  readonly auth: readonly Credential[];
  /** Without it, the connections are not encrypted. */
  readonly tls?: TlsSource | undefined;
  readonly sasl?: SaslSource | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly network: Network;
  /** The session to attach to, instead of opening a new one. */
  readonly resume?: SessionIdentity;
  /** The number of rounds over the hosts that had no answer just before, for the length of the first attempts. */
  readonly unansweredRounds?: number;
  /** What the client has learned about its servers. */
  readonly traits?: ServerTraits;
  /** The number of the first request. @default 1 */
  readonly firstXid?: number;
}

/** An attempt to connect that ended without an answer to its ConnectRequest. */
export interface UnansweredAttempt {
  readonly startedAt: number;
  /** True if a server accepted the TCP connection: the server is running, and refused without a reply. */
  readonly wasAccepted: boolean;
}

/** The methods are called synchronously, in the order of the events on the socket. */
export interface ConnectionListener {
  /**
   * How long one server may take to accept the connection and to answer the ConnectRequest, in milliseconds, after this
   * number of rounds in which an attempt ran out of time. `measuredMs` is the time that the last session needed.
   */
  attemptMs(unansweredRounds: number, measuredMs: number): number;
  /** Called before `disconnected`. */
  unanswered(attempt: UnansweredAttempt): void;
  /** Also called after `attach`, without `disconnected` before it. */
  connected(connectSentAt: number): void;
  /** The connection that `attach` made has failed, and the present one goes on. */
  attachFailed(): void;
  /** Every outstanding request has been failed. The connection tries the next server by itself. */
  disconnected(): void;
  /** The server said that the session has ended. */
  expired(): void;
  authFailed(): void;
  /** The server answered a ping. */
  pinged(sentAt: number): void;
  /** `error` is 0, or ZooKeeper's error number. */
  answered(operation: Operation<unknown>, sentAt: number, error: number): void;
  /** Further requests may be sent now. */
  roomMade(): void;
  watchFired(path: string, event: WatchEventType): void;
  /** The watches to plant on the next server. */
  watchedPaths(kind: WatchKind): string[];
  warn(message: string, error: unknown): void;
}

type State =
  /** `handshake`: the attempt, undefined in the pause before it. */
  { readonly at: 'connecting'; readonly handshake: Handshake | undefined } | Connected | { readonly at: 'closed' };

interface Connected {
  readonly at: 'connected';
  readonly pipeline: Pipeline;
  /** The connection that is to take the place of the present one. */
  second: SecondLink | undefined;
}

/** What the client does instead of an operation that ends each connection. */
const consequences: Partial<Record<string, string>> = {
  createContainer: 'Parents are created as persistent znodes instead, which stay when they are empty',
  setWatches: 'Watches are planted one by one instead',
  removeWatches: 'Watches are not removed any more before their znodes are',
};

function refusalText(server: string, { why }: SaslRefusal): string {
  return why === 'no-ticket'
    ? `This client cannot authenticate to ${server}`
    : `The server ${server} does not serve this client`;
}
