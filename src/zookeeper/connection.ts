import zookeeper, { type ConnectionManager } from 'node-zookeeper-client';
import { inNoContext } from '../support/no-context.js';
import type { CancelTimer, Clock } from '../support/clock.js';
import { longestConnectResponse, readConnectResponse } from './connect-response.js';
import { describeHosts, type Host } from './connect-string.js';
import { FrameSplitter, longestFrame } from './frames.js';
import { headStartMs } from './attempt-time.js';
import { HostHistory } from './host-history.js';
import { Routes, type Route } from './routes.js';
import { ServerMemory } from './server-memory.js';
import {
  requiredError,
  saslToken,
  SaslRefusal,
  type SaslHandshake,
  type SaslMessage,
  type SaslSource,
} from './sasl-handshake.js';
import { explainTls } from './tls-error.js';
import type { Link, Network, TlsSource } from './network.js';
import { ping, setWatches, type Operation, type WatchKind } from './operations.js';
import { Reader, Writer } from './wire.js';
import { ZooKeeperError } from './zookeeper-error.js';

/**
 * node-zookeeper-client, hardened: one ZooKeeper session over one TCP connection after another. This is the only file
 * that depends on the internals of that library. Every line that replaces one of the library's methods repairs a
 * measured failure.
 */
export class Connection {
  readonly #manager: ConnectionManager;
  readonly #listener: ConnectionListener;
  readonly #options: ConnectionOptions;
  readonly #chroot: Buffer;
  readonly #createdAt: number;
  #frames = new FrameSplitter();
  #connectSentAt = 0;
  readonly #routes: Routes;
  readonly #memory: ServerMemory;
  readonly #names: readonly string[];
  #nextHost = 0;
  /** The number of hosts, one after another, whose lookup was pending. */
  #pendingHosts = 0;
  #dialledAt = 0;
  /** The host of the last connection or attempt. */
  #dialled: Host | undefined;
  #cancelAttempt: CancelTimer = () => {};
  /** The requests whose answers are due, the oldest first. */
  readonly #unanswered: WireRequest[] = [];
  /** The requests that are sent at the end of the tick, or when the socket has room again. */
  readonly #unwritten = new Writer();
  #isWriteDue = false;
  #lastZxid = 0n;
  /** The ping that the server has not answered yet. */
  #ping: WireRequest | undefined;
  #reattach: Reattach | undefined;
  /** The authentication by SASL, from the ConnectResponse until the server has accepted the account. */
  #sasl: SaslExchange | undefined;
  /** The IP address of the connected server. Kept, because a socket that has ended knows it no more. */
  #address: string | undefined;
  /** `host:port` of the last connection or attempt. */
  server = '';
  /** The time of the last answer to a request or a ping. */
  heardAt = 0;
  /** The time of the last answer to a request. */
  answeredAt = 0;
  /** The reason why the last connection or attempt ended, for the error that a user sees. */
  lastError: unknown;
  /** The record of the hosts since one of them served the session. */
  readonly history: HostHistory;

  constructor(options: ConnectionOptions, listener: ConnectionListener) {
    this.#options = options;
    this.#listener = listener;
    this.#chroot = Buffer.from(options.chroot);
    this.#createdAt = options.clock.now();
    this.#names = options.hosts.map((host) => describeHosts({ hosts: [host] }));
    this.history = new HostHistory(this.#names, options.unansweredRounds);
    this.#routes = new Routes(options.network.names, options.clock);
    this.#memory = options.network.memory ?? new ServerMemory();
    // `retries` stays 0, because a create that is repeated after a lost reply leaves an orphan in the live session.
    const client = zookeeper.createClient('127.0.0.1', {
      sessionTimeout: options.sessionTimeoutMs,
      retries: 0,
      ...(options.resume && { sessionId: options.resume.id, sessionPassword: options.resume.password }),
    });
    for (const { scheme, credentials } of options.auth) client.addAuthInfo(scheme, Buffer.from(credentials));
    this.#manager = client.connectionManager;
    if (options.resume) this.#lastZxid = options.resume.lastZxid;
    this.#harden();
  }

  connect(): void {
    this.#manager.connect();
  }

  get isConnected(): boolean {
    return this.#manager.state === states.connected;
  }

  /** The timeout that the last server granted. */
  get timeoutMs(): number {
    return this.#manager.sessionTimeout;
  }

  get identity(): SessionIdentity {
    return {
      id: Buffer.from(this.#manager.sessionId),
      password: Buffer.from(this.#manager.sessionPassword),
      lastZxid: this.lastZxid,
    };
  }

  get sessionId(): bigint {
    return this.#manager.sessionId.readBigInt64BE();
  }

  get lastZxid(): bigint {
    return this.#lastZxid;
  }

  /** The last error of each server that was tried since a server served the session, by `host:port`. */
  get failures(): ReadonlyMap<string, unknown> {
    return this.history.failures;
  }

  /** The last reason why a server refused this client's account, since a server served the session. */
  get refusal(): SaslRefusal | undefined {
    return this.history.refusal;
  }

  /**
   * The time since which the server owes the next answer: the time of its last answer, or the time when the request was
   * sent, whichever is later. Answers arrive in order, so the age of a request that waits behind many others says
   * nothing about the link. The answer to a ping does not count: it says nothing about the requests.
   */
  get unansweredSince(): number | undefined {
    const [oldest] = this.#unanswered;
    return oldest ? Math.max(oldest.sentAt, this.answeredAt) : this.#ping?.sentAt;
  }

  /**
   * Sends a request now, or fails it now. No request is kept for a later connection, because there it would overtake
   * the authentication, and could be executed long after its caller gave up. The requests that are made while `reattach`
   * runs are the only exception: they are sent, in their order, as soon as `reattach` has ended.
   */
  send<T>(operation: Operation<T>): Promise<Reply<T>> {
    return new Promise((resolve, reject) => {
      const caller = { resolve: resolve as (reply: Reply<unknown>) => void, reject };
      if (this.#reattach) this.#reattach.heldBack.push({ operation, caller });
      else this.#send(operation, caller);
    });
  }

  #send(operation: Operation<unknown>, caller: Caller): void {
    // Before the frame is begun, because requests that this call sends would be written into the middle of it.
    operation.beforeWrite?.();
    if (!this.isConnected) {
      caller.reject(connectionLost(operation, this.lastError));
      return;
    }
    const request = new WireRequest(operation, this.#nextXid(), this.#options.clock.now(), caller);
    this.#unwritten.addFrame(request, this.#chrootOf(operation));
    this.#unanswered.push(request);
    this.#writeSoon();
  }

  /** Sends a ping, unless the server still owes the answer to the last one. It writes no transaction. */
  ping(): void {
    if (!this.isConnected || this.#reattach || this.#ping) return;
    this.#ping = new WireRequest(ping, pingXid, this.#options.clock.now(), nobody);
    this.#unwritten.addFrame(this.#ping, noChroot);
    this.#writeSoon();
  }

  /**
   * Attaches to the session anew: ends this TCP connection, and connects to the same server. The requests in flight are
   * answered first, for at most `drainMs`. `disconnected` is called only if that server cannot be reached.
   */
  reattach(drainMs: number): void {
    if (this.#reattach || !this.isConnected) return;
    this.#reattach = {
      heldBack: [],
      isDialling: false,
      cancelDrain: this.#options.clock.after(drainMs, () => this.#redial()),
    };
    // Not at once, because the caller may be the callback of an answer, with more answers in the same chunk.
    inNoContext(() => process.nextTick(() => this.#redialIfDrained()));
  }

  /** True from the call of `reattach` until the new connection is made, or the old server cannot be reached. */
  get isReattaching(): boolean {
    return this.#reattach !== undefined;
  }

  /** Ends this TCP connection. The next server is tried at once. */
  drop(why: Error): void {
    this.#manager.socket?.destroy(why);
  }

  /**
   * Ends the connection for good, without a message to the server. The session stays on the servers until it expires.
   */
  abandon(): void {
    this.#cancelAttempt();
    this.#routes.forget();
    this.#manager.state = states.closed;
    this.#manager.socket?.destroy();
    this.#failUnanswered();
  }

  #harden(): void {
    const manager = this.#manager;
    const connected = manager.onSocketConnected.bind(manager);
    const authenticate = manager.onSocketDrain.bind(manager);

    manager.connect = () => this.#tryNextHost();
    manager.onSocketConnected = () => {
      this.#frames = new FrameSplitter(longestConnectResponse);
      this.#connectSentAt = this.#options.clock.now();
      manager.zxid.writeBigInt64BE(this.#lastZxid);
      connected();
    };
    // The library allocates memory for the announced length before the bytes have arrived, and its exceptions reach no
    // caller.
    manager.onSocketData = (chunk) => this.#receive(chunk);
    // The library's own method goes on to the next server only if nothing throws on the way.
    manager.onSocketClosed = () => {
      this.#guard('The loss of a connection could not be reported completely', () =>
        manager.setState(states.disconnected),
      );
      this.#tryNextHost();
    };
    // A ping keeps the session alive, but the library does not check for its answer. The session sends its own
    // heartbeats instead.
    manager.onSocketTimeout = () => {};
    // The library's queue of packets would write each request by itself, and emits an event for each.
    manager.xid = 1;
    manager.onSocketDrain = () => {
      authenticate();
      this.#write();
    };
    manager.on('state', (state) => this.#stateChanged(state));
  }

  #tryNextHost(): void {
    const { hosts, clock, random } = this.#options;
    const manager = this.#manager;
    const index = this.#nextHost % hosts.length;
    const host = hosts[index];
    // A listener of the disconnection may have abandoned the connection.
    if (host === undefined || manager.state === states.closed) return;
    const name = describeHosts({ hosts: [host] });
    this.server = name;
    this.#nextHost = index + 1;
    manager.setState(states.connecting);

    const delayMs = index === 0 ? this.history.beginRound(clock.now(), random()) : 0;
    const find = (): void => this.#routes.find(host.host, (route) => this.#found(host, name, route));
    const waits = index === 0 && this.#pendingHosts >= hosts.length;
    this.#cancelAttempt = waits ? this.#routes.whenAnswered(find) : clock.after(delayMs, find);
  }

  #found(host: Host, name: string, route: Route): void {
    this.#pendingHosts = route.is === 'pending' ? this.#pendingHosts + 1 : 0;
    this.history.dial(name, route.is === 'found' ? route.addresses : []);
    if (route.is === 'found') {
      this.#dial(host, name, this.#memory.inOrder(name, route.addresses, this.#options.random));
      return;
    }
    this.lastError =
      route.is === 'failed' ? route.error : new Error(`The lookup of ${host.host} has not been answered yet`);
    this.history.failed(name, this.lastError);
    this.#attemptEnded({ startedAt: this.#options.clock.now(), wasAccepted: false });
  }

  #dial(host: Host, name: string, addresses: readonly string[]): void {
    const { clock, network, tls } = this.#options;
    const manager = this.#manager;
    this.#dialledAt = clock.now();
    const measuredMs = this.#memory.longestMs(this.#names);
    const attemptMs = this.#listener.attemptMs(this.history.unansweredRounds, measuredMs);
    const attempt = { startedAt: clock.now(), wasAccepted: false };
    let time: 'running' | 'out' | 'over' = 'running';
    this.#sasl = undefined;
    const socket = network.connect(host, tls, {
      addresses,
      headStartMs: headStartMs(attemptMs, addresses.length, measuredMs),
    });
    manager.socket = socket;
    this.#dialled = host;
    // Node.js emits no data of a destroyed socket. If it did, an old answer would be in the place of a new one.
    const isPresent = (): boolean => manager.socket === socket;
    // After the TLS handshake, because a ConnectRequest counts from the time when it is sent.
    socket.on(tls ? 'secureConnect' : 'connect', () => {
      // A server may repeat the handshake of TLS 1.2. A second ConnectRequest would be in the place of a request.
      // After the time of the attempt, a granted session would be thrown away, and would live until its timeout.
      if (attempt.wasAccepted || time !== 'running' || !isPresent()) return;
      attempt.wasAccepted = true;
      this.#address = socket.remoteAddress;
      this.#guard('The request for a session could not be sent', () => manager.onSocketConnected());
    });
    socket.on('data', (chunk) => {
      if (isPresent()) manager.onSocketData(chunk);
    });
    socket.on('drain', () => this.#guard('A request could not be written', () => manager.onSocketDrain()));
    socket.on('close', () => this.#socketClosed(socket, host, attempt));
    socket.on('error', () => {
      // The event 'close' follows, and `socket.errored` keeps the error.
    });
    // This time limit covers the ConnectResponse too, because otherwise a server that accepts the connection and
    // never answers would block the client forever.
    const cancel = clock.after(attemptMs, () => {
      time = 'out';
      // After a stall of this process, the answer may lie unread in the socket.
      clock.afterPoll(() => {
        if (time === 'over') return;
        this.history.ranOut();
        // Only Kerberos makes a message that is not there at once.
        const silent =
          this.#sasl && this.#sasl.xid === undefined ? `Kerberos gave no token for ${name}` : `${name} did not answer`;
        this.drop(new Error(`${silent} within ${Math.round(attemptMs)} ms, the time of one attempt`));
      });
    });
    this.#cancelAttempt = () => {
      time = 'over';
      cancel();
    };
  }

  #redialIfDrained(): void {
    if (this.#unanswered.length === 0) this.#redial();
  }

  #redial(): void {
    const { hosts } = this.#options;
    const manager = this.#manager;
    const host = hosts[(this.#nextHost + hosts.length - 1) % hosts.length];
    if (!this.#reattach || this.#reattach.isDialling || !this.isConnected || host === undefined) return;
    this.#reattach.isDialling = true;
    this.#reattach.cancelDrain();
    const old = manager.socket;
    manager.setState(states.connecting);
    this.#failSent();
    // The new socket takes the old one's place first, so that the end of the old one is not taken for an outage.
    inNoContext(() => this.#dial(host, this.server, this.#address === undefined ? [] : [this.#address]));
    old?.destroy();
  }

  #socketClosed(socket: Link, host: Host, attempt: UnansweredAttempt): void {
    const manager = this.#manager;
    if (manager.socket !== socket || manager.state === states.closed) return;
    this.#cancelAttempt();
    const name = describeHosts({ hosts: [host] });
    const wasAttempt = manager.state === states.connecting;
    const error = socket.errored ?? new Error(`${name} closed the connection${wasAttempt ? this.#guess : ''}`);
    this.lastError = wasAttempt && this.#options.tls ? explainTls(error, host, attempt.wasAccepted) : error;
    this.history.failed(name, this.lastError);
    if (attempt.wasAccepted && this.heardAt < this.#dialledAt) this.#memory.failed(name, this.#address);
    if (wasAttempt) this.#attemptEnded(attempt);
    else manager.onSocketClosed();
  }

  #attemptEnded(attempt: UnansweredAttempt): void {
    this.#guard('The loss of a connection could not be reported completely', () => this.#attemptFailed(attempt));
    // A listener may have ended the session.
    if (this.#manager.state !== states.closed) this.#manager.onSocketClosed();
  }

  #attemptFailed(attempt: UnansweredAttempt): void {
    if (this.#isRefusedForGood) this.#manager.setState(states.authFailed);
    // In the authentication by SASL, the server has answered the ConnectRequest. But a session that is resumed only to
    // be closed must not be resumed without end, because each ConnectRequest extends it.
    else if (this.#sasl === undefined || this.#options.resume) this.#listener.unanswered(attempt);
  }

  /** The connected server refuses this client's account. The next server may have another configuration. */
  #refused(why: SaslRefusal): void {
    const { server } = this;
    this.lastError = why;
    const isFirst = this.history.refused(server, why, this.#address);
    this.#memory.failed(server, this.#address);
    if (this.#isRefusedForGood) {
      this.#manager.setState(states.authFailed);
      return;
    }
    // The end of a connection is reported anyway. A refusal by SASL comes before there is one.
    if (isFirst && !this.isConnected) this.#listener.warn(`${refusalText(server, why)}; trying the next server`, why);
    this.drop(why);
  }

  /**
   * A server that cannot be reached may still accept the account, and the session may hold locks. But each ConnectRequest
   * extends the session, and the znodes of a session that nobody can use block their queues. So it ends after one session
   * timeout in which no server answered it. A session with holds is past its deadline by then. A missing ticket may be
   * there in time, so it ends only a session that no server has served yet.
   */
  get #isRefusedForGood(): boolean {
    const { refusal, haveAllRefused } = this.history;
    const mayStillGetTicket = refusal?.why === 'no-ticket' && this.heardAt > 0;
    if (!mayStillGetTicket && haveAllRefused) return true;
    const answeredAt = Math.max(this.heardAt, this.#createdAt);
    return refusal !== undefined && this.#options.clock.now() - answeredAt >= this.timeoutMs;
  }

  /** The reason why a server may close the first connection of a client without an answer. */
  get #guess(): string {
    if (this.#options.tls || this.sessionId !== 0n) return '';
    return ' without an answer. If this is its secureClientPort, set the option `tls`';
  }

  #stateChanged(state: number): void {
    switch (state) {
      case states.connected:
        this.#cancelAttempt();
        this.lastError = undefined;
        this.#connected();
        return;
      case states.disconnected:
        this.#failUnanswered();
        this.#listener.disconnected();
        return;
      case states.expired:
        this.abandon();
        this.#listener.expired();
        return;
      case states.authFailed:
        this.abandon();
        this.#listener.authFailed();
        return;
    }
  }

  /** The watches and the requests of the listener go out before the requests that were held back. */
  #connected(): void {
    const reattach = this.#reattach;
    this.#reattach = undefined;
    try {
      this.#tellWatches('data');
      this.#tellWatches('children');
      this.#listener.connected(this.#connectSentAt);
    } finally {
      for (const { operation, caller } of reattach?.heldBack ?? []) {
        try {
          this.#send(operation, caller);
        } catch (error) {
          caller.reject(error);
        }
      }
    }
  }

  #receive(chunk: Buffer): void {
    const manager = this.#manager;
    const socket = manager.socket;
    const message =
      manager.state === states.connecting ? unusable(this.server) : 'A reply could not be read; reconnecting';
    // A reply that cannot be parsed cannot be matched to its request either. Only a new connection is in a known state.
    this.#guard(message, () => {
      for (const frame of this.#frames.push(chunk)) {
        if (socket?.destroyed !== false || manager.state === states.closed) return;
        if (manager.state === states.connecting) this.#shakeHands(frame);
        else this.#dispatch(frame);
      }
      if (this.#reattach) this.#redialIfDrained();
    });
  }

  /** The frames before the session can be used: the ConnectResponse, and the answers to SASL. */
  #shakeHands(frame: Buffer): void {
    if (this.#sasl) this.#authenticate(this.#sasl, frame);
    else this.#granted(frame);
  }

  #granted(frame: Buffer): void {
    const manager = this.#manager;
    const { timeoutMs, sessionId, password } = readConnectResponse(frame, this.sessionId);
    if (timeoutMs === 0) {
      manager.setState(states.expired);
      return;
    }
    manager.sessionId.writeBigInt64BE(sessionId);
    manager.sessionPassword = password;
    manager.sessionTimeout = timeoutMs;
    const { sasl } = this.#options;
    if (sasl === undefined) {
      this.#established();
      return;
    }
    const { socket } = manager;
    const isConnected = (): boolean => manager.socket === socket && socket?.destroyed === false;
    const handshake = sasl({ host: this.#dialled?.host ?? '', isConnected });
    this.#sasl = { handshake, isConnected, xid: undefined };
    this.#sendToken(this.#sasl, handshake.begin());
  }

  #sendToken(sasl: SaslExchange, token: SaslMessage): void {
    sasl.xid = undefined;
    if (token instanceof Promise) {
      // The connection may have ended meanwhile.
      const ifConnected = (act: () => void): void => {
        if (sasl.isConnected()) this.#guard(unusable(this.server), act);
      };
      token.then(
        (made) => ifConnected(() => this.#sendToken(sasl, made)),
        (why: unknown) => ifConnected(() => this.#notAuthenticated(why)),
      );
      return;
    }
    const request = new WireRequest(saslToken(token), this.#nextXid(), 0, nobody);
    const frame = new Writer();
    frame.addFrame(request, noChroot);
    this.#manager.socket?.write(frame.frames());
    sasl.xid = request.xid;
  }

  #authenticate(sasl: SaslExchange, frame: Buffer): void {
    const { xid, error } = readReplyHeader(frame);
    if (xid !== sasl.xid)
      throw new Error(
        `The server answered request ${xid}, but ${sasl.xid === undefined ? 'no answer' : `request ${sasl.xid}`} was due`,
      );
    const token = error === 0 ? new Reader(frame, replyBodyAt).bytes() : Buffer.alloc(0);
    let next: SaslMessage | undefined;
    try {
      next = sasl.handshake.next(error, token);
    } catch (why) {
      if (!(why instanceof SaslRefusal)) throw why;
      this.#refused(why);
      return;
    }
    if (next) this.#sendToken(sasl, next);
    else this.#established();
  }

  /** Kerberos made no message. Unless that is a refusal, a further attempt may succeed. */
  #notAuthenticated(why: unknown): void {
    if (why instanceof SaslRefusal) this.#refused(why);
    else this.drop(why instanceof Error ? why : new Error(String(why)));
  }

  #established(): void {
    const manager = this.#manager;
    this.#sasl = undefined;
    // Not at the ConnectResponse: otherwise no attempt would ever be long enough for a slow authentication.
    this.history.granted();
    this.#memory.granted(this.server, this.#address, this.#options.clock.now() - this.#dialledAt);
    this.#routes.forget();
    this.#frames.longest = longestFrame;
    manager.setState(states.connected);
    // Sends the authentication, and the requests that were made while the listeners heard of the new state.
    manager.onSocketDrain();
  }

  #dispatch(frame: Buffer): void {
    const header = readReplyHeader(frame);
    if (header.xid === pingXid) {
      if (header.error === requiredError) this.#refused(new SaslRefusal('required'));
      else this.#pinged();
      return;
    }
    if (header.xid === authXid) {
      if (header.error === authFailedError) this.#refused(new SaslRefusal('credentials'));
      return;
    }
    if (header.xid === watchXid) {
      const event = new Reader(frame, replyBodyAt, this.#chroot);
      const type = eventTypes[event.int()];
      event.int();
      if (type !== undefined) this.#listener.watchFired(event.path(), type);
      return;
    }
    const [request] = this.#unanswered;
    if (request?.xid !== header.xid) {
      const due = request ? `the answer to request ${request.xid}` : 'no answer';
      throw new Error(`The server answered request ${header.xid}, but ${due} was due`);
    }
    this.#unanswered.shift();
    if (header.error === requiredError) {
      request.fail(header.error);
      this.#refused(new SaslRefusal('required'));
      return;
    }
    this.answeredAt = this.#options.clock.now();
    this.heardAt = this.answeredAt;
    this.#raiseZxid(header.zxid);
    this.#answered(request, header, frame);
  }

  #pinged(): void {
    const ping = this.#ping;
    if (ping === undefined) throw new Error('The server answered a ping, but no answer was due');
    this.#ping = undefined;
    this.heardAt = this.#options.clock.now();
    this.history.served();
    this.#listener.pinged(ping.sentAt);
  }

  #answered(request: WireRequest, { error, zxid }: ReplyHeader, frame: Buffer): void {
    const { operation, sentAt, caller } = request;
    if (error !== 0) {
      this.#listener.answered(operation, sentAt, error);
      request.fail(error);
      return;
    }
    let value: unknown;
    try {
      value = operation.read(new Reader(frame, replyBodyAt, this.#chrootOf(operation)));
    } catch (unreadable) {
      caller.reject(connectionLost(operation, unreadable));
      throw unreadable;
    }
    const sessionError = operation.sessionError?.(value) ?? 0;
    // Neither at the ConnectResponse nor at an answer that ends the connection: a server that ends every connection
    // would be dialled without a pause.
    if (sessionError === 0) this.history.served();
    this.#listener.answered(operation, sentAt, sessionError);
    caller.resolve({ value, zxid });
  }

  /**
   * Catches every error in a socket's handler, so that none reaches the process. The connection is given up, and the
   * next server is tried.
   */
  #guard(message: string, run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#listener.warn(message, error);
      this.drop(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /**
   * An error reply carries the zxid -1 or 0. If the client handed that to the next server, a server that lags behind
   * would accept the client.
   */
  #raiseZxid(zxid: bigint): void {
    if (zxid > this.#lastZxid) this.#lastZxid = zxid;
  }

  #failUnanswered(): void {
    this.#failSent();
    const reattach = this.#reattach;
    if (reattach === undefined) return;
    this.#reattach = undefined;
    reattach.cancelDrain();
    for (const { operation, caller } of reattach.heldBack) caller.reject(connectionLost(operation, this.lastError));
  }

  /** Also drops the authentication that still waits to be written, because it would pile up from server to server. */
  #failSent(): void {
    this.#ping = undefined;
    this.#unwritten.clear();
    for (const { operation, caller } of this.#unanswered.splice(0))
      caller.reject(connectionLost(operation, this.lastError));
    this.#manager.packetQueue.queue.splice(0);
  }

  /**
   * Plants the watches on the new connection, in several requests, because the server refuses one SetWatches of over 1
   * MB forever. The library itself knows no watches.
   */
  #tellWatches(kind: WatchKind): void {
    let paths: string[] = [];
    let bytes = 0;
    const flush = (): void => {
      if (paths.length === 0) return;
      this.send(setWatches(this.lastZxid, kind, paths)).catch((error: unknown) => {
        // Without its watches, a session would wait forever. Try the next server.
        if (error instanceof ZooKeeperError && !error.is('CONNECTION_LOSS')) this.drop(error);
      });
      paths = [];
      bytes = 0;
    };
    for (const path of this.#listener.watchedPaths(kind)) {
      const more = 4 + this.#chroot.length + Buffer.byteLength(path);
      if (bytes + more > longestSetWatches) flush();
      paths.push(path);
      bytes += more;
    }
    flush();
  }

  /** Sends all requests of one tick in one packet, including those that wait for the end of the tick. */
  #writeSoon(): void {
    if (this.#isWriteDue) return;
    this.#isWriteDue = true;
    const write = (): void => {
      this.#isWriteDue = false;
      this.#guard('A request could not be written', () => this.#write());
    };
    // The second tick and the promise let a list that is shared by all callers of this tick leave in the same packet.
    const whenTickEnds = (): void => void Promise.resolve().then(write);
    // Outside of every context, because a request that cannot be written to a stalled link must not keep its caller's
    // context alive.
    inNoContext(() => process.nextTick(() => process.nextTick(whenTickEnds)));
  }

  /** Without room in the socket, the requests wait for the event 'drain'. */
  #write(): void {
    const { socket } = this.#manager;
    if (this.isConnected && socket?.writableNeedDrain === false && !this.#unwritten.isEmpty)
      socket.write(this.#unwritten.frames());
  }

  #chrootOf(operation: Operation<unknown>): Buffer {
    return operation.isAbsolute ? noChroot : this.#chroot;
  }

  /** The library counts beyond an int32. */
  #nextXid(): number {
    const { xid } = this.#manager;
    this.#manager.xid = xid < 0x7fffffff ? xid + 1 : 1;
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
  /** Also called after `reattach`, without `disconnected` before it. */
  connected(connectSentAt: number): void;
  /** Every outstanding request has been failed. The connection tries the next server by itself. */
  disconnected(): void;
  /** The server said that the session has ended. */
  expired(): void;
  authFailed(): void;
  /** The server answered a ping. */
  pinged(sentAt: number): void;
  /** `error` is 0, or ZooKeeper's error number. */
  answered(operation: Operation<unknown>, sentAt: number, error: number): void;
  watchFired(path: string, event: WatchEventType): void;
  /** The watches to plant on the next server. */
  watchedPaths(kind: WatchKind): string[];
  warn(message: string, error: unknown): void;
}

export type WatchEventType = 'created' | 'deleted' | 'changed' | 'children';

export interface Reply<T> {
  readonly value: T;
  /** The server's newest transaction when it answered. */
  readonly zxid: bigint;
}

/** The library's own state numbers. */
const states = { disconnected: 0, connecting: 1, connected: 2, closing: -1, closed: -2, expired: -3, authFailed: -4 };

const authFailedError = -115;

const pingXid = -2;

const authXid = -4;

const watchXid = -1;

const noChroot = Buffer.alloc(0);

const longestSetWatches = 128 * 1024;

const eventTypes: Partial<Record<number, WatchEventType>> = { 1: 'created', 2: 'deleted', 3: 'changed', 4: 'children' };

/** A request that was sent, and whose answer is due. */
class WireRequest {
  readonly operation: Operation<unknown>;
  readonly xid: number;
  /** The time of the request's proof starts here. */
  readonly sentAt: number;
  readonly caller: Caller;

  constructor(operation: Operation<unknown>, xid: number, sentAt: number, caller: Caller) {
    this.operation = operation;
    this.xid = xid;
    this.sentAt = sentAt;
    this.caller = caller;
  }

  write(to: Writer): void {
    this.operation.write(to.int(this.xid).int(this.operation.opcode));
  }

  /** Rejects with the error of the server. */
  fail(error: number): void {
    this.caller.reject(new ZooKeeperError(error, this.operation.name, this.operation.path));
  }
}

/** The authentication of one connection by SASL. */
interface SaslExchange {
  readonly handshake: SaslHandshake;
  readonly isConnected: () => boolean;
  /** The request whose answer is due. Undefined while the client makes the next message. */
  xid: number | undefined;
}

/** The functions that settle the promise of a request. */
interface Caller {
  resolve(reply: Reply<unknown>): void;
  reject(error: unknown): void;
}

/** The server answers a ping by its xid alone. */
const nobody: Caller = { resolve: () => {}, reject: () => {} };

/** The connection is about to attach to its session anew. */
interface Reattach {
  /** The requests that were made meanwhile. */
  readonly heldBack: { readonly operation: Operation<unknown>; readonly caller: Caller }[];
  /** False while the answers to the requests in flight are awaited. */
  isDialling: boolean;
  readonly cancelDrain: CancelTimer;
}

interface ReplyHeader {
  readonly xid: number;
  readonly zxid: bigint;
  readonly error: number;
}

function connectionLost({ name, path }: Operation<unknown>, cause: unknown): ZooKeeperError {
  return new ZooKeeperError(ZooKeeperError.connectionLoss, name, path, { cause });
}

function refusalText(server: string, { why }: SaslRefusal): string {
  return why === 'no-ticket'
    ? `This client cannot authenticate to ${server}`
    : `The server ${server} does not serve this client`;
}

function unusable(server: string): string {
  return `The session that ${server} granted cannot be used; trying the next server`;
}

const replyBodyAt = 4 + 16;

function readReplyHeader(frame: Buffer): ReplyHeader {
  if (frame.length < replyBodyAt)
    throw new RangeError(`A frame of ${frame.length - 4} bytes is too short for an answer`);
  return { xid: frame.readInt32BE(4), zxid: frame.readBigInt64BE(8), error: frame.readInt32BE(16) };
}
