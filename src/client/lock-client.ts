import { listenForAbort, throwIfAborted } from '../support/abort-signal.js';
import { inNoContext } from '../support/no-context.js';
import type { BackgroundEvent } from './background-event.js';
import { checkClientOptions, type CheckedClientOptions, type LockClientOptions } from './client-options.js';
import type { CancelTimer, Clock } from '../support/clock.js';
import { roundDelayMs } from '../zookeeper/host-history.js';
import { describeHosts, parseConnectString, type ConnectString } from '../zookeeper/connect-string.js';
import { Parents } from '../zookeeper/parents.js';
import { nextState, type ConnectionChange, type ConnectionState } from './connection-state.js';
import { AuthFailedError, ClientClosedError, ConnectionTimeoutError } from './client-errors.js';
import { clientHealth, type ClientHealth } from './client-health.js';
import type { Chance } from '../support/chance.js';
import type { Network } from '../zookeeper/network.js';
import { Companions } from '../support/companions.js';
import type { Deadline } from '../support/deadline.js';
import { Events } from '../support/events.js';
import { Ghost, type ServerHealth } from './ghost.js';
import { loadKerberos } from './kerberos-package.js';
import { Listeners } from '../support/listeners.js';
import { errorText } from '../support/error-text.js';
import { OutageLog, type Silence } from './outage-log.js';
import type { LockEvent } from './lock-event.js';
import { saslSource } from './sasl-options.js';
import { SaslRefusal } from '../zookeeper/sasl-handshake.js';
import { Session, sessionName } from '../zookeeper/session.js';
import type { SessionEnd, SessionOwner } from '../zookeeper/session-owner.js';
import { SessionTracing } from './session-tracing.js';
import { showByJson, withJson } from '../support/shown.js';
import { shuffled } from '../support/shuffled.js';
import { Successor } from './successor.js';
import { TlsError } from '../zookeeper/tls-error.js';
import { systemSurroundings, type Surroundings } from './surroundings.js';
import { untilAnswered, type Question } from '../zookeeper/until-answered.js';
import { expected, expectDuration, expectOptions } from '../support/validate.js';

/**
 * A connection to ZooKeeper for any number of locks. It keeps one session after another, and opens a new session by
 * itself when the servers have expired the old one.
 *
 * @example
 * const client = await LockClient.connect('zk1:2181,zk2:2181,zk3:2181/app', { sessionTimeoutMs: 30_000 });
 * client.on('state', (state) => console.log(state));
 * await client.close();
 */
export class LockClient implements AsyncDisposable {
  readonly #target: ConnectString;
  readonly #options: CheckedClientOptions;
  readonly #network: Network;
  readonly #events = new Events<LockClientEvents>('state', 'background', 'lock');
  readonly #changes = new Listeners<void>();
  readonly #lostSessions = new Set<Session>();
  readonly #ghosts = new Set<Ghost>();
  readonly #successor: Successor;
  readonly #outages: OutageLog;
  readonly #tracing: SessionTracing;
  #session: Session;
  #state: ConnectionState | undefined;
  #closing: Promise<void> | undefined;
  #unprovenSessions = 0;
  #cancelNextSession: CancelTimer = () => undefined;
  /** @internal */
  readonly clock: Clock;
  /** @internal */
  readonly chance: Chance;
  /** @internal */
  readonly parents: Parents;
  /** @internal The deadlines of the waiting calls. */
  readonly deadlines = new Set<Deadline>();
  /** @internal The objects that locks keep for this client. */
  readonly companions = new Companions<LockClient>(this);

  /**
   * Resolves with a connected client.
   *
   * @param connectString `host:port,host:port/chroot`. The default port is 2181. IPv6 addresses need brackets
   * @throws TypeError or RangeError for a bad connect string or option
   * @throws ConnectionTimeoutError if no server answers within `connectionTimeoutMs`
   * @throws AuthFailedError if the servers refuse the credentials, or the account of `sasl`, or if Kerberos gives no ticket
   * @throws TlsError if TLS with every server fails for a reason that a further attempt would not change
   * @throws the reason of `signal` if it aborts first
   * @example
   * await using client = await LockClient.connect('127.0.0.1:2181');
   */
  static connect(connectString: string, options?: LockClientOptions): Promise<LockClient> {
    return LockClient.connectIn(systemSurroundings, connectString, options);
  }

  /** @internal As `connect`, with a clock, chance and a network from the caller. */
  static async connectIn(
    surroundings: Surroundings,
    connectString: string,
    options?: LockClientOptions,
  ): Promise<LockClient> {
    const target = parseConnectString(connectString);
    const checked = checkClientOptions(options);
    // A missing package is a bad option: it must not look like a failed connection.
    if (checked.sasl?.mechanism === 'GSSAPI') await loadKerberos();
    throwIfAborted(checked.signal);
    const client = new LockClient(target, checked, surroundings, fromConnect);
    try {
      await client.#firstConnection();
    } catch (error) {
      client.#session.abandon();
      await client.close({ timeoutMs: 0 });
      throw error;
    }
    return client;
  }

  private constructor(
    target: ConnectString,
    options: CheckedClientOptions,
    surroundings: Surroundings,
    caller: typeof fromConnect,
  ) {
    // In JavaScript, a private constructor can be called.
    if ((caller as unknown) !== fromConnect)
      throw new TypeError(
        "LockClient cannot be constructed: use `await LockClient.connect('host:2181', options)`, which resolves with a connected client",
      );
    const { clock, chance, network } = surroundings;
    this.#target = target;
    this.#options = options;
    this.clock = clock;
    this.chance = chance;
    this.#network = network;
    this.#outages = new OutageLog(options.log, clock, options.sessionTimeoutMs);
    this.#tracing = new SessionTracing(this.clock, this.address);
    this.parents = new Parents(target.chroot);
    this.#successor = new Successor({
      clock,
      sessionTimeoutMs: options.sessionTimeoutMs,
      open: (unansweredRounds, owner) =>
        new Session({ ...this.#sessionOptions(), connectBy: -Infinity, unansweredRounds }, owner),
      replace: (old, by) => this.#replaceSession(old, by),
      warn: (message, error) => this.warn(message, error),
    });
    this.#session = this.#openSession();
  }

  /** The state of the connection now; see {@link ConnectionState}. */
  get state(): ConnectionState {
    return this.#state ?? 'suspended';
  }

  /** The negotiated session timeout, in milliseconds. */
  get sessionTimeoutMs(): number {
    return Number.isFinite(this.#session.timeoutMs) ? this.#session.timeoutMs : this.#options.sessionTimeoutMs;
  }

  /**
   * Returns what the client knows about itself now. Asks no server, so it is fast and never fails, also in an outage.
   *
   * A client whose state is `suspended` or `lost` is not dead: it connects again, and opens a new session, by itself. Do
   * not restart its process for that; see docs/operating.md.
   *
   * @example
   * const { state, remainingMs, held, waiting } = client.health();
   * if (state === 'suspended' && held > 0) console.log(`${held} locks are lost in ${remainingMs} ms`);
   */
  health(): ClientHealth {
    const session = this.#session;
    // Judged first, so that the answer agrees with `hold.isValid`.
    session.isAlive();
    return clientHealth({
      state: this.state,
      session,
      timeoutMs: this.sessionTimeoutMs,
      now: this.clock.now(),
      waiting: this.#acquires,
      silence: this.silence,
    });
  }

  /**
   * Calls `listener` at every later event: at every change of `state`, at everything that happens in the `background`,
   * or at every event of every `lock` of this client. The first change, to `connected`, has happened when `connect`
   * resolves. An error that a listener throws becomes a process warning, and stops nothing.
   *
   * @throws TypeError for another event, or a listener that is not a function
   * @example
   * const isUp = (state: ConnectionState) => state === 'connected' || state === 'reconnected';
   * client.on('state', (state) => metrics.gauge('zookeeper_up', isUp(state) ? 1 : 0));
   * client.on('background', (event) => log.debug(event));
   * client.on('lock', (event) => event.type === 'acquired' && metrics.observe('lock_wait_ms', event.waitedMs));
   */
  on<Name extends keyof LockClientEvents>(event: Name, listener: (value: LockClientEvents[Name]) => void): this {
    this.#events.on(event, listener);
    return this;
  }

  /** As `on`, but only for the next event. */
  once<Name extends keyof LockClientEvents>(event: Name, listener: (value: LockClientEvents[Name]) => void): this {
    this.#events.once(event, listener);
    return this;
  }

  /** Removes a listener of `on` or `once`. If it was added several times, removes the latest. */
  off<Name extends keyof LockClientEvents>(event: Name, listener: (value: LockClientEvents[Name]) => void): this {
    this.#events.off(event, listener);
    return this;
  }

  /**
   * Ends everything: waiting acquires reject with ClientClosedError, holds are lost with reason `client-closed` (their
   * signals abort first), and the server deletes the znodes. So let the jobs end first. Never rejects because of a dead
   * server: after `timeoutMs` the session is left to expire. Resolves at once if the client has no connection and no
   * znode. A second call returns the same promise.
   *
   * @param options `timeoutMs`: how long to wait for the servers, in milliseconds; 5000 by default
   * @throws TypeError or RangeError for a bad option
   * @example
   * const stop = new AbortController();
   * const running = new Set<Promise<unknown>>(); // results of withLock that have not settled yet
   * process.once('SIGTERM', async () => {
   *   stop.abort();                                // acquires that wait with { signal: stop.signal } give up
   *   await Promise.allSettled(running);           // the jobs end, and release their locks
   *   await client.close({ timeoutMs: 2_000 });
   * });
   */
  close(options: { readonly timeoutMs?: number | undefined } = {}): Promise<void> {
    try {
      const { timeoutMs = defaultCloseTimeoutMs } = expectOptions('close', options, ['timeoutMs']);
      expectDuration('timeoutMs', timeoutMs);
      return (this.#closing ??= this.#close(timeoutMs));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Calls `close()` with its default timeout, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal The session that new znodes belong to. */
  get session(): Session {
    return this.#session;
  }

  /** @internal */
  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  /** @internal The same text for every client with the same hosts and chroot, whatever the order of the hosts. */
  get address(): string {
    const { hosts, chroot } = this.#target;
    return `${describeHosts({ hosts: hosts.toSorted((a, b) => (a.host < b.host ? -1 : Number(a.host > b.host)) || a.port - b.port) })}${chroot}`;
  }

  /** @internal */
  get options(): CheckedClientOptions {
    return this.#options;
  }

  /** @internal Resolves with the session as soon as it is connected: the present session or a later one. */
  async whenConnected(deadline: Deadline): Promise<Session> {
    deadline.check();
    if (this.#session.isConnected) return this.#session;
    return deadline.wait((wake) => this.onChange(() => this.#session.isConnected && wake(this.#session)));
  }

  /**
   * @internal Asks a question that may be repeated. If the answer is lost, asks again on the next connection, of this
   * session or the next.
   *
   * @throws ZooKeeperError if a server refuses the request
   */
  ask<T>(question: Question<T, Session>, deadline: Deadline): Promise<T> {
    return deadline.limit(
      () => untilAnswered<T, Session>(question, undefined, () => this.whenConnected(deadline)),
      ignore,
    );
  }

  /**
   * @internal Calls `listener` when the session changes its state or is replaced, and when the client begins to close.
   */
  onChange(listener: () => void): () => void {
    return this.#changes.add(listener);
  }

  /** @internal Emits a `background` event, with its path as the servers know it. */
  report(event: BackgroundEvent): void {
    const onServers = 'path' in event ? { ...event, path: this.onServers(event.path) } : event;
    this.#outages.repaired(onServers);
    this.#events.tell('background', withJson({ ...onServers }));
  }

  /** @internal The path with the chroot, as the servers know it, for logs. */
  onServers(path: string): string {
    return `${this.#target.chroot}${path}`;
  }

  /** @internal True if `lock` has a listener. Otherwise the events are not created. */
  get hearsLocks(): boolean {
    return this.#events.isHeard('lock');
  }

  /** @internal */
  tellLock(event: LockEvent): void {
    this.#events.tell('lock', event);
  }

  /** The form for `console.log` and `JSON.stringify`: the servers, the state and the session. No credentials. */
  toJSON(): object {
    const { id } = this.#session;
    return {
      hosts: describeHosts(this.#target),
      chroot: this.#target.chroot,
      state: this.state,
      sessionId: id === 0n ? undefined : sessionName(id),
      sessionTimeoutMs: this.sessionTimeoutMs,
    };
  }

  static {
    showByJson(this, 'LockClient');
  }

  /** @internal Reports an error that no call can report. */
  warn(message: string, error: unknown): void {
    this.report({ type: 'warning', message, error });
    if (error === undefined) this.#options.log.warn(message);
    else this.#options.log.warn(`${message}: ${errorText(error)}`, { err: error });
  }

  /** @internal The time without an answer from the servers, and the reason. Undefined while no answer is owed. */
  get silence(): Silence | undefined {
    return this.#outages.silence(this.#session);
  }

  /** The number of acquires that have not settled yet. */
  get #acquires(): number {
    let count = 0;
    for (const { isAcquire } of this.deadlines) if (isAcquire) count += 1;
    return count;
  }

  async #close(timeoutMs: number): Promise<void> {
    // The promise must exist before any listener is called, because a listener may read isClosing.
    await Promise.resolve();
    this.#cancelNextSession();
    for (const each of [...this.deadlines]) each.closing();
    this.#changes.tell();
    for (const lost of this.#lostSessions) this.#closeGhost(lost);
    if (this.#session.isUnanswered) this.#closeUnanswered(this.#session);
    await Promise.all([this.#session, this.#successor, ...this.#ghosts].map((each) => each.close(timeoutMs)));
    this.#change('closed');
  }

  #firstConnection(): Promise<void> {
    const { connectionTimeoutMs, signal } = this.#options;
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const { state } = this.#session;
        // The servers check the credentials before the first answer, but not before the connection.
        if (state.at === 'connected' && this.#session.isProven) settle(resolve);
        else if (state.at === 'ended' && state.why === 'auth-failed') settle(() => reject(this.#authFailed()));
        else if (this.#tlsRefusal) settle(() => reject(this.#tlsRefusal));
      };
      const cancelTimer = this.clock.after(connectionTimeoutMs, () => {
        settle(() =>
          reject(
            new ConnectionTimeoutError(
              describeHosts(this.#target),
              connectionTimeoutMs,
              this.#session.lastError,
              this.#failures(),
              this.#options.tls ? 'secureClientPort' : 'clientPort',
            ),
          ),
        );
      });
      const unsubscribe = this.onChange(look);
      let stopListening = (): unknown => undefined;
      const settle = (how: () => void): void => {
        cancelTimer();
        unsubscribe();
        stopListening();
        how();
      };
      if (signal) stopListening = listenForAbort(signal, (reason) => settle(() => reject(reason)));
      look();
    });
  }

  #authFailed(session = this.#session): AuthFailedError {
    return new AuthFailedError(
      describeHosts(this.#target),
      this.#options.auth.map(({ scheme }) => scheme),
      saslRefusal(session),
    );
  }

  /** The last TlsError, if no server can be reached until its certificate or the options change. */
  get #tlsRefusal(): unknown {
    const failures = [...this.#failures().values()];
    return failures.every((error) => error instanceof TlsError && error.isDefinite) ? failures.at(-1) : undefined;
  }

  /** The last error of each server, in the order of the connect string. */
  #failures(): Map<string, unknown> {
    const servers = this.#target.hosts.map((host) => describeHosts({ hosts: [host] }));
    return new Map(servers.map((server) => [server, this.#session.failures.get(server)]));
  }

  #openSession(): Session {
    const session = new Session(
      { ...this.#sessionOptions(), connectBy: this.clock.now() + this.#options.connectionTimeoutMs },
      this.#owner(),
    );
    this.#follow(session);
    return session;
  }

  #follow(session: Session): void {
    session.onChange(() => {
      if (this.#session === session) this.#sessionChanged();
    });
  }

  #sessionChanged(): void {
    this.#changes.tell();
    for (const ghost of this.#ghosts) ghost.look();
  }

  #sessionOptions() {
    return {
      // If all clients tried the servers in the same order, all would connect to the first one.
      hosts: shuffled(this.#target.hosts, this.chance.random),
      chroot: this.#target.chroot,
      sessionTimeoutMs: this.#options.sessionTimeoutMs,
      auth: this.#options.auth,
      tls: this.#options.tls,
      sasl: this.#options.sasl && saslSource(this.#options.sasl, this.chance.uuid),
      tickTimeMs: this.#options.tickTimeMs,
      clock: this.clock,
      random: this.chance.random,
      network: this.#network,
    };
  }

  #owner(): SessionOwner<Session> {
    return {
      connected: (session) => {
        this.#successor.answered();
        this.report({ type: 'connected', sessionId: sessionName(session.id), server: session.server });
        this.#tracing.connected(session);
        this.#change('up');
      },
      answered: (session) => this.#outages.answered(session),
      suspended: (session) => {
        this.report({ type: 'disconnected', sessionId: sessionName(session.id), error: session.lastError });
        this.#outages.suspended(session);
        this.#tracing.suspended(session);
        this.#change('down');
      },
      overdue: (session) => {
        this.#outages.overdue(session);
        this.#change('lost');
      },
      unanswered: (session) => {
        if (session.epoch === 0) this.#changes.tell();
        if (!this.isClosing && session.isRefused && session.epoch > 0) this.#successor.refused(session);
      },
      ended: (session, why, lost) => this.#sessionEnded(session, why, lost),
      settled: (session) => this.#closeGhost(session),
      warn: (message, error) => {
        // The end of the first session that all servers refused says why, once for the whole outage.
        if (!(error instanceof SaslRefusal && this.#outages.isRefused)) this.warn(message, error);
      },
    };
  }

  #sessionEnded(session: Session, why: SessionEnd, lost: number): void {
    if (why === 'lost' || why === 'replaced') this.#lostSessions.add(session);
    this.#tracing.ended(session, why);
    if (this.isClosing || why === 'closed' || (why === 'auth-failed' && this.#state === undefined)) return;
    this.#successor.answered();
    this.report({ type: 'session-ended', sessionId: sessionName(session.id), why });
    const { message } = this.#authFailed(session);
    if (why === 'auth-failed' && !this.#outages.isRefused) this.report({ type: 'warning', message, error: undefined });
    this.#outages.ended(session, why, lost, message);
    this.#change('lost');
    if (why === 'replaced') return;
    // The pause protects a server that ends every session at once from a stream of new sessions.
    this.#unprovenSessions = session.isProven ? 0 : this.#unprovenSessions + 1;
    const isRefused = why === 'auth-failed' && saslRefusal(session) !== undefined;
    const delayMs = (isRefused ? refusedDelayMs : roundDelayMs)(this.#unprovenSessions, this.chance.random());
    this.#cancelNextSession = this.clock.after(delayMs, () => {
      this.#session = this.#openSession();
      this.#changes.tell();
    });
  }

  /** The servers have older data: they will never know the old session, and have accepted the new one. */
  #replaceSession(old: Session, by: Session): void {
    const owner = this.#owner();
    by.adopt(owner);
    this.#follow(by);
    old.replace();
    this.#session = by;
    owner.connected?.(by);
    owner.answered?.(by);
    this.#sessionChanged();
  }

  /**
   * No server has answered this session for its timeout. If the servers have older data, they never will. As a ghost,
   * the session is closed on them too.
   */
  #closeUnanswered(session: Session): void {
    session.abandon();
    if (session.epoch === 0 || session.znodes === 0) return;
    this.#lostSessions.add(session);
    this.#closeGhost(session);
  }

  /**
   * Closes a session that was given up in this process. It lives on at the servers until it expires, and its znodes
   * block the queue.
   */
  #closeGhost(lost: Session): void {
    if (!this.#lostSessions.delete(lost) || this.#state === 'closed') return;
    const ghost = new Ghost({
      identity: lost.identity,
      timeoutMs: lost.timeoutMs,
      clock: this.clock,
      random: this.chance.random,
      open: (attempt, owner) => new Session({ ...this.#sessionOptions(), ...attempt, connectBy: -Infinity }, owner),
      health: () => this.#health(),
      closed: () => {
        if (this.isClosing) return;
        this.report({ type: 'lost-session-closed', sessionId: sessionName(lost.id) });
        this.#outages.closed(sessionName(lost.id));
      },
      over: () => this.#ghosts.delete(ghost),
      warn: (message, error) => this.warn(message, error),
    });
    this.#ghosts.add(ghost);
    // The ghost must not keep the context of the job that released the last lost hold.
    inNoContext(() => ghost.look());
  }

  /** A quiet session sends only pings. So a sync is sent too: its answer comes from the leader. */
  #health(): ServerHealth | undefined {
    if (!this.#session.isConnected) return undefined;
    this.#session.catchUp('/');
    return this.#session;
  }

  #change(change: ConnectionChange): void {
    const state = nextState(this.#state, change);
    if (state === this.#state || state === undefined) return;
    this.#state = state;
    this.#events.tell('state', state);
  }
}

const defaultCloseTimeoutMs = 5_000;

/**
 * The pause after this number of sessions in a row that the servers have refused by SASL, in milliseconds: a second,
 * doubling up to a minute, randomized. Each session costs the servers two transactions.
 */
function refusedDelayMs(refused: number, random: number): number {
  return Math.min(60_000, 1_000 * 2 ** Math.min(refused, 10)) * (0.5 + random / 2);
}

/** Why the servers refused the account of the option `sasl`, or a client without one. */
function saslRefusal({ refusal }: Session): SaslRefusal | undefined {
  return refusal?.why === 'credentials' ? undefined : refusal;
}

/** Only `connect` has this symbol. */
const fromConnect = Symbol('LockClient.connect');

/** The events of {@link LockClient.on} and the values that they pass. */
export interface LockClientEvents {
  /** The new `state`. */
  state: ConnectionState;
  /** An action that the client took by itself. */
  background: BackgroundEvent;
  /** An event of one of the client's locks. It is created only if there is a listener. */
  lock: LockEvent;
}

/** @internal */
export function requireClient(client: unknown): asserts client is LockClient {
  if (client instanceof LockClient) return;
  const isPromise = typeof client === 'object' && client !== null && 'then' in client;
  throw new TypeError(
    `${expected('client', 'a LockClient, from LockClient.connect()', client)}${isPromise ? ': await it' : ''}`,
  );
}

/** @internal */
export function requireOpen(client: LockClient, what: string): void {
  if (client.isClosing) throw new ClientClosedError(what);
}

function ignore(): void {
  // The answer arrived after the call had settled.
}
