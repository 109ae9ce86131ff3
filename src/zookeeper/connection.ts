import { ConnectionFailures } from './connection-failures.js';
import type { ConnectionListener, UnansweredAttempt } from './connection-listener.js';
import type { ConnectionOptions } from './connection-options.js';
import { Dialler } from './dialler.js';
import type { Handshake } from './handshake.js';
import type { HostHistory } from './host-history.js';
import { openingMessages } from './opening-messages.js';
import type { Operation } from './operations.js';
import { Pipeline } from './pipeline.js';
import { connectionLost, type Call, type Caller, type Reply } from './replies.js';
import type { SaslRefusal } from './sasl-handshake.js';
import { SecondLink } from './second-link.js';
import type { ServerLink } from './server-link.js';
import { ServerTraits } from './server-traits.js';
import { renewWatches } from './watch-renewal.js';
import { WireSession, type SessionIdentity } from './wire-session.js';

/** One ZooKeeper session over one connection after another. */
export class Connection {
  readonly #listener: ConnectionListener;
  readonly #options: ConnectionOptions;
  readonly #dialler: Dialler;
  readonly #traits: ServerTraits;
  /** True once a server granted the session to this process, or the session is one to resume. */
  #wasGranted: boolean;
  #state: State = { at: 'connecting', handshake: undefined };
  readonly #session: WireSession;
  readonly #failures: ConnectionFailures;
  /** The time of the last answer to a request or a ping. */
  heardAt = 0;
  /** The time of the last answer to a request. */
  answeredAt = 0;

  constructor(options: ConnectionOptions, listener: ConnectionListener) {
    this.#options = options;
    this.#listener = listener;
    this.#traits = options.traits ?? new ServerTraits(() => options.clock.now());
    this.#wasGranted = options.resume !== undefined;
    this.#session = new WireSession(options);
    const warn = (message: string, error: unknown): void => listener.warn(message, error);
    this.#dialler = new Dialler({
      ...options,
      sasl: options.sasl,
      attemptMs: (unansweredRounds, measuredMs) => listener.attemptMs(unansweredRounds, measuredMs),
      askedFor: () => this.sessionId,
      opening: () => openingMessages({ identity: this.identity, timeoutMs: this.timeoutMs, auth: options.auth }),
      nextXid: () => this.#session.nextXid(),
      warn,
    });
    this.#failures = new ConnectionFailures(options, {
      history: this.history,
      traits: this.#traits,
      heardAt: () => this.heardAt,
      timeoutMs: () => this.timeoutMs,
      warn,
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
    return this.#session.identity;
  }

  get sessionId(): bigint {
    return this.#session.id;
  }

  get lastZxid(): bigint {
    return this.#session.lastZxid;
  }

  /** The timeout that the last server granted, in milliseconds. Before the first grant: the one to ask for. */
  get timeoutMs(): number {
    return this.#session.timeoutMs;
  }

  /** The reason why the last connection or attempt ended, for the error that a user sees. */
  get lastError(): unknown {
    return this.#failures.last;
  }

  /** `host:port` of the last connection or attempt. */
  get server(): string {
    return this.#dialler.server;
  }

  /** The time when the last connection was made; monotonic milliseconds. */
  get connectedAt(): number {
    return this.#dialler.grantedAt;
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

  /** The time since which the overloaded server has put requests off. Undefined if it puts none off now. */
  get postponedSince(): number | undefined {
    return this.#state.at === 'connected' ? this.#state.pipeline.postponedSince : undefined;
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
      granted: (response) => this.#session.granted(response),
      established: (handshake, auth) => this.#exchanged(second, handshake, auth),
      expired: () => this.#expired(),
      refused: (handshake, why) => this.#refusedBeside(handshake, why),
      ranOut: () => {},
      ended: (handshake, error, wasGranted) => this.#secondEnded(second, handshake, error, wasGranted),
    });
  }

  /** Stops attaching, unless the server was asked already. The present connection stays, unless it has ended. */
  stopAttaching(): void {
    const state = this.#state;
    if (state.at !== 'connected' || state.second?.mayStop !== true) return;
    state.second.abandon();
    if (state.pipeline.isEnded) this.#disconnected(state);
    else this.#stay(state, state.second);
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
        granted: (response) => this.#session.granted(response),
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
        this.#dialNextAfter(() => {
          this.#failures.of(this.server, why);
          this.#judge({ startedAt: this.#options.clock.now(), wasAccepted: false });
        }),
    );
  }

  /** The accounts go out first, then the watches and the requests of the listener, and then those that were held back. */
  #established(handshake: Handshake, auth: readonly Uint8Array[], heldBack: readonly Call[]): void {
    // Not at the ConnectResponse: otherwise no attempt would ever be long enough for a slow authentication.
    this.#dialler.granted(handshake);
    if (this.#wasGranted) this.#traits.resumed();
    this.#wasGranted = true;
    this.#failures.last = undefined;
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
      {
        clock,
        random,
        chroot,
        traits: this.#traits,
        timeoutMs: () => this.timeoutMs,
        nextXid: () => this.#session.nextXid(),
      },
      {
        heard: (zxid) => {
          this.heardAt = this.answeredAt = clock.now();
          this.#session.heard(zxid);
        },
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
        settled: () => {
          if (this.#state.at === 'connected') this.#state.second?.drained();
        },
        roomMade: () => listener.roomMade(),
        ended: (pipeline, error) => this.#pipelineEnded(pipeline, error),
      },
    );
  }

  #exchanged(second: SecondLink, handshake: Handshake, auth: readonly Uint8Array[]): void {
    const state = this.#state;
    if (state.at !== 'connected' || state.second !== second) return;
    state.pipeline.link.abandon();
    const again = [...state.pipeline.takeRepeatable(), ...state.pipeline.takeUnsent()];
    state.pipeline.fail(this.lastError);
    this.#established(handshake, auth, [...again, ...second.heldBack]);
  }

  /** The second connection failed. If the present one stands, it goes on. */
  #secondEnded(second: SecondLink, handshake: Handshake, error: Error | undefined, wasGranted: boolean): void {
    const state = this.#state;
    if (state.at !== 'connected' || state.second !== second) return;
    second.abandon();
    const hasForgotten = handshake.grantedOther && this.#traits.grantedOther();
    if (!state.pipeline.isEnded) {
      this.#stay(state, second);
      this.#listener.attachFailed();
    } else if (hasForgotten) {
      this.#forgotten(error);
    } else {
      this.#attemptFailed(handshake, error, wasGranted);
      this.#disconnected(state);
    }
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
    if (handshake.grantedOther && this.#traits.grantedOther()) this.#forgotten(error);
    else this.#dialNextAfter(() => this.#attemptFailed(handshake, error, wasGranted));
  }

  #dialNextAfter(fail: () => void): void {
    try {
      fail();
      this.#listener.disconnected();
    } finally {
      this.#dialNext();
    }
  }

  #attemptFailed(handshake: Handshake, error: Error | undefined, wasGranted: boolean): void {
    const { link, startedAt, wasAccepted } = handshake;
    if (wasAccepted) this.#dialler.avoid(link);
    this.#failures.ofAttempt(handshake, error, this.sessionId === 0n);
    if (!wasGranted && !handshake.grantedOther) this.#traits.gaveNoSession(link.server);
    // A session that is resumed only to be closed must not be resumed without end, because each ConnectRequest extends
    // it.
    this.#judge(!wasGranted || this.#options.resume ? { startedAt, wasAccepted } : undefined);
  }

  #judge(unanswered: UnansweredAttempt | undefined): void {
    if (this.#failures.areFinal) this.#authFailed();
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
    this.#failures.ofConnection(pipeline, ended);
    if (this.heardAt < this.#dialler.grantedAt) this.#dialler.avoid(pipeline.link);
    if (!state.second) {
      this.#disconnected(state);
      return;
    }
    pipeline.fail(this.lastError);
    state.second.drained();
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

  #forgotten(why: Error | undefined): void {
    this.#listener.warn('The session has ended, and the client goes on in a new one', why);
    this.#expired();
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
    this.#dialler.avoid(link);
    this.#failures.ofAccount(link.server, link.address, why, this.isConnected);
    if (this.#failures.areFinal) this.#authFailed();
    else link.drop(why);
  }

  #refusedBeside(handshake: Handshake, why: SaslRefusal): void {
    // Before the ConnectRequest, only Kerberos' ticket can be missing. The present connection needs none.
    if (handshake.wasGranted) this.#refused(why, handshake.link);
    else handshake.link.drop(why);
  }

  #renewWatches(): void {
    renewWatches({
      since: this.lastZxid,
      chrootBytes: Buffer.byteLength(this.#options.chroot),
      oneByOne: this.#traits.endsConnections('setWatches'),
      paths: (kind) => this.#listener.watchedPaths(kind),
      send: (operation) => this.send(operation),
      fired: (path, event) => this.#listener.watchFired(path, event),
      // Without its watches, a session would wait forever. Try the next server.
      failed: (error) => this.drop(error),
    });
  }
}

/** The facts of a session's connections that its users may read. */
export type ConnectionFacts = Readonly<
  Pick<
    Connection,
    | 'answeredAt'
    | 'connectedAt'
    | 'heardAt'
    | 'history'
    | 'identity'
    | 'lastError'
    | 'lastZxid'
    | 'postponedSince'
    | 'server'
    | 'unansweredSince'
  >
>;

type State =
  /** `handshake`: the attempt, undefined in the pause before it. */
  { readonly at: 'connecting'; readonly handshake: Handshake | undefined } | Connected | { readonly at: 'closed' };

interface Connected {
  readonly at: 'connected';
  readonly pipeline: Pipeline;
  /** The connection that is to take the place of the present one. */
  second: SecondLink | undefined;
}
