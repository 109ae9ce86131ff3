import { ConnectionFailures } from './connection-failures.js';
import type { ConnectionListener, ConnectionOptions, UnansweredAttempt } from './connection-options.js';
import { Dialler } from './dialler.js';
import type { Handshake } from './handshake.js';
import type { HostHistory } from './host-history.js';
import { LinkPair } from './link-pair.js';
import { OpeningMessages } from './opening-messages.js';
import type { Operation } from '../wire/operations.js';
import { Call, connectionLost, type Reply } from '../wire/replies.js';
import type { SaslRefusal } from '../wire/sasl-handshake.js';
import type { ServerLink } from './server-link.js';
import type { Postponement } from './postponed-requests.js';
import { renewWatches } from './watch-renewal.js';
import { WireSession, type SessionIdentity } from '../wire/wire-session.js';

/** One ZooKeeper session over one connection after another. */
export class Connection {
  readonly #listener: ConnectionListener;
  readonly #options: ConnectionOptions;
  readonly #dialler: Dialler;
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
    this.#session = new WireSession(options);
    const warn = (message: string, error: unknown): void => listener.warn(message, error);
    const opening = new OpeningMessages(options.auth);
    this.#dialler = new Dialler({
      ...options,
      sasl: options.sasl,
      attemptMs: (unansweredRounds, measuredMs) => listener.attemptMs(unansweredRounds, measuredMs),
      mostPauseMs: () => listener.mostPauseMs(),
      askedFor: () => this.sessionId,
      opening: () => opening.of(this.identity, this.timeoutMs),
      nextXid: () => this.#session.nextXid(),
      warn,
    });
    this.#failures = new ConnectionFailures(options, this, this.#dialler, warn);
  }

  /** Dials the first server. */
  connect(): void {
    this.#dialNext();
  }

  get isConnected(): boolean {
    return this.#links !== undefined;
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

  /** The time when the last connection was made, -Infinity before the first one; monotonic milliseconds. */
  get connectedAt(): number {
    return this.#dialler.grantedAt;
  }

  /** The record of the hosts since one of them served the session. */
  get history(): HostHistory {
    return this.#dialler.history;
  }

  /** The number of requests that may be sent now. Further ones would wait in the process. */
  get room(): number {
    return this.#links?.room ?? 0;
  }

  /** The time since which the server owes the next answer. Undefined if it owes none. */
  get unansweredSince(): number | undefined {
    return this.#links?.pipeline.unansweredSince;
  }

  /** Undefined if the server puts no requests off now. */
  get postponement(): Postponement | undefined {
    return this.#links?.pipeline.postponement;
  }

  /**
   * Sends a request on this connection, or fails it. No request is kept for a later connection, because it could be
   * executed long after its caller gave up. The requests that are made while `attach` exchanges the connections are the
   * only exception: they are sent, in their order, on the connection that stays.
   */
  send<T>(operation: Operation<T>): Promise<Reply<T>> {
    return new Promise((resolve, reject) => this.#send(new Call(operation, resolve as Call['resolve'], reject)));
  }

  #send(call: Call): void {
    const links = this.#links;
    if (links) {
      links.send(call);
    } else {
      call.operation.beforeWrite?.();
      call.reject(connectionLost(call.operation, this.lastError));
    }
  }

  /** Sends a ping, unless the server still owes the answer to the last one. It writes no transaction. */
  ping(): void {
    this.#links?.ping();
  }

  /**
   * Attaches to the session anew: dials the same server a second time, and lets the new connection take the place of the
   * present one as soon as the server has granted the session on it. The requests in flight are answered first, for at
   * most `drainMs`. If the new connection fails, the present one stays.
   */
  attach(drainMs: number): void {
    this.#links?.attach(drainMs);
  }

  /** As `attach`, but to another server, if it can be dialled: then calls `attach`, which has to attach at once. */
  attachElsewhere(attach: () => void): void {
    if (this.#links) this.#dialler.findElsewhere(this.#links.pipeline.link, attach);
  }

  /** Stops attaching, unless the server was asked already. The present connection stays, unless it has ended. */
  stopAttaching(): void {
    this.#links?.stopAttaching();
  }

  /** Ends this connection. The next server is tried at once. */
  drop(why: Error): void {
    if (this.#state.at === 'connecting') this.#state.handshake?.drop(why);
    else this.#links?.pipeline.link.drop(why);
  }

  /**
   * Ends the connection for good, without a message to the server. The session stays on the servers until it expires.
   */
  abandon(): void {
    const state = this.#state;
    this.#state = { at: 'closed' };
    this.#dialler.stop();
    if (state.at === 'connecting') state.handshake?.abandon();
    else if (state.at === 'connected') state.links.abandon();
  }

  get #links(): LinkPair | undefined {
    return this.#state.at === 'connected' ? this.#state.links : undefined;
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
    const { resume, traits } = this.#options;
    traits.grantedMs = this.timeoutMs;
    if (resume || this.connectedAt !== -Infinity) traits.resumed();
    // Not at the ConnectResponse: otherwise no attempt would ever be long enough for a slow authentication.
    this.#dialler.granted(handshake);
    this.#failures.last = undefined;
    const links = this.#linksOn(handshake);
    const { pipeline } = links;
    this.#state = { at: 'connected', links };
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

  #linksOn({ link }: Handshake): LinkPair {
    const { clock, random, servers, traits } = this.#options;
    const listener = this.#listener;
    return new LinkPair(
      link,
      {
        clock,
        random,
        chroot: servers.chroot,
        traits,
        timeoutMs: () => this.#session.timeoutMs,
        nextXid: () => this.#session.nextXid(),
        dialAgain: (first, to) => this.#dialler.again(first, to),
        lastError: () => this.lastError,
      },
      {
        heard: (zxid, answeredAt) => {
          this.heardAt = this.answeredAt = answeredAt;
          this.#session.heard(zxid);
        },
        answered: (operation, sentAt, error) => {
          // Not at an answer that ends the connection: a server that ends every connection would be dialled without a
          // pause.
          if (error === 0) this.#dialler.served();
          listener.answered(operation, sentAt, error);
        },
        pinged: (sentAt) => {
          this.heardAt = clock.now();
          this.#dialler.served();
          listener.pinged(sentAt);
        },
        watchFired: (path, event) => listener.watchFired(path, event),
        roomMade: () => listener.roomMade(),
        granted: (response) => this.#session.granted(response),
        expired: () => this.#expired(),
        refused: (why, on) => this.#refused(why, on),
        exchanged: (handshake, auth, heldBack) => this.#established(handshake, auth, heldBack),
        stayed: (heldBack) => {
          this.#sendAll(heldBack);
          listener.roomMade();
        },
        attachFailed: () => listener.attachFailed(),
        firstEnded: (links, error) => this.#firstEnded(links, error),
        ended: (links) => this.#disconnected(links),
        bothEnded: (links, handshake, error, wasGranted) => {
          this.#attemptFailed(handshake, error, wasGranted);
          this.#disconnected(links);
        },
        forgotten: (why) => this.#forgotten(why),
      },
    );
  }

  #sendAll(calls: readonly Call[]): void {
    for (const call of calls) {
      try {
        this.#send(call);
      } catch (error) {
        call.reject(error);
      }
    }
  }

  #attemptEnded(handshake: Handshake, error: Error | undefined, wasGranted: boolean): void {
    const state = this.#state;
    if (state.at !== 'connecting' || state.handshake !== handshake) return;
    if (handshake.grantedOther && this.#options.traits.grantedOther()) this.#forgotten(error);
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
    this.#failures.ofAttempt(handshake, error, wasGranted);
    // A session that is resumed only to be closed must not be resumed without end, because each ConnectRequest extends
    // it.
    this.#judge(!wasGranted || this.#options.resume ? handshake : undefined);
  }

  #judge(unanswered: UnansweredAttempt | undefined): void {
    if (this.#failures.areFinal) this.#authFailed();
    else if (unanswered) this.#listener.unanswered(unanswered);
  }

  #firstEnded(links: LinkPair, error: Error | undefined): void {
    if (this.#links === links) this.#failures.ofConnection(links.pipeline, error);
  }

  #disconnected(links: LinkPair): void {
    if (this.#links !== links) return;
    this.#state = { at: 'connecting', handshake: undefined };
    try {
      links.fail();
      this.#listener.disconnected();
    } finally {
      this.#dialNext();
    }
  }

  #forgotten(why: Error | undefined): void {
    this.#listener.warn('The session has ended, and the client goes on in a new one', why);
    this.#expired();
  }

  #expired(): void {
    this.#options.traits.sessionExpired();
    this.abandon();
    this.#listener.expired();
  }

  #authFailed(): void {
    this.abandon();
    this.#listener.authFailed();
  }

  /** The server refuses this client's account. The next server may have another configuration. */
  #refused(why: SaslRefusal, link: ServerLink): void {
    this.#failures.ofAccount(link, why, this.isConnected);
    if (this.#failures.areFinal) this.#authFailed();
    else link.drop(why);
  }

  #renewWatches(): void {
    renewWatches({
      since: this.lastZxid,
      chrootBytes: Buffer.byteLength(this.#options.servers.chroot),
      oneByOne: this.#options.traits.whyNotToSend('setWatches', 0, this.server) !== undefined,
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
    | 'postponement'
    | 'server'
    | 'unansweredSince'
  >
>;

type State =
  /** `handshake`: the attempt, undefined in the pause before it. */
  | { readonly at: 'connecting'; readonly handshake: Handshake | undefined }
  | { readonly at: 'connected'; readonly links: LinkPair }
  | { readonly at: 'closed' };
