import { inNoContext } from '../support/no-context.js';
import { attemptMs } from './attempt-time.js';
import type { CancelTimer, Clock } from '../support/clock.js';
import {
  Connection,
  type ConnectionListener,
  type ConnectionOptions,
  type SessionIdentity,
  type UnansweredAttempt,
} from './connection.js';
import { Companions } from '../support/companions.js';
import { Listeners } from '../support/listeners.js';
import { waitBefore, type Deadline } from '../support/deadline.js';
import {
  absolute,
  check,
  checkServers,
  closeSession,
  removeWatch,
  sync,
  type Operation,
  type WatchEventType,
  type WatchKind,
} from './operations.js';
import type { Reply } from './replies.js';
import { deadlineOf, learn, unproven } from './session-clock.js';
import { ProofSchedule, silentAt } from './proof-schedule.js';
import type { SaslRefusal } from './sasl-handshake.js';
import type { SessionEnd, SessionOwner } from './session-owner.js';
import { untilAnswered, type Question } from './until-answered.js';
import { watchKindOf, watchQuestions, Watches, type Watched, type WatchListener } from './watches.js';
import { whenNoNode, ZooKeeperError } from './zookeeper-error.js';

/** One ZooKeeper session: its clock, its outstanding requests, its watches and its end. */
export class Session implements ConnectionListener {
  readonly #options: SessionOptions;
  readonly #clock: Clock;
  #owner: SessionOwner<Session>;
  readonly #connection: Connection;
  readonly #watches: Readonly<Record<WatchKind, Watches>> = { data: new Watches(), children: new Watches() };
  readonly #holdings = new Set<Holding>();
  readonly #schedule = new ProofSchedule();
  /** The waiters' znodes that the next heartbeat checks. */
  readonly #toCheck = new Set<Checked>();
  #attaching: Attaching | undefined;
  /** After an attach that failed, the proof comes from the present connection. */
  #attachNotBefore = -Infinity;
  readonly #changes = new Listeners<void>();
  readonly #watchEvents = new Listeners<WatchEvent>();
  #state: SessionState = { at: 'connecting' };
  #proof = unproven;
  #checkedUpTo = 0;
  /** The time when the newest answered request was sent, including pings and ConnectRequests. */
  #answeredSentAt = -Infinity;
  /** The number of the last connection on which a server has answered a request or a ping. */
  #answeredEpoch = 0;
  #cancelTick: CancelTimer = () => {};
  /** The time when the next tick should run; monotonic milliseconds. */
  #tickAt = Infinity;
  /** The last tick that ran much too late, because this process was stopped or its event loop was blocked. */
  #stall: { readonly forMs: number; readonly endedAt: number } | undefined;
  /** The number of connections that this session has had. An answer on one connection says nothing about another. */
  epoch = 0;
  /**
   * The number of writes that were answered without an error. Each was a transaction. Creates of parents are not
   * counted.
   */
  writesAnswered = 0;
  /**
   * The number of this session's znodes that exist on the servers, or may exist. They block the queues until the
   * session ends on the servers. Ephemeral znodes of transactions count until then, because others may delete them.
   */
  znodes = 0;
  /** The time when the last connection was made; monotonic milliseconds. */
  connectedAt = -Infinity;
  /** The objects that locks keep for this session. */
  readonly companions = new Companions<Session>(this);

  constructor(options: SessionOptions, owner: SessionOwner<Session>) {
    this.#options = options;
    this.#clock = options.clock;
    this.#owner = owner;
    this.#connection = new Connection(options, this);
    this.#connection.connect();
  }

  get state(): SessionState {
    return this.#state;
  }

  get isConnected(): boolean {
    return this.#state.at === 'connected';
  }

  get isEnded(): boolean {
    return this.#state.at === 'ended' || this.#state.at === 'closing';
  }

  get id(): bigint {
    return this.#connection.sessionId;
  }

  /** The newest transaction that any answer to this session has shown. */
  get lastZxid(): bigint {
    return this.#connection.lastZxid;
  }

  get identity(): SessionIdentity {
    return this.#connection.identity;
  }

  /** The negotiated session timeout, in milliseconds. */
  get timeoutMs(): number {
    return this.#proof.timeoutMs;
  }

  /** A hold of this session is valid only before this time; monotonic milliseconds. */
  get deadline(): number {
    return deadlineOf(this.#proof);
  }

  /**
   * The time at which the session is over for this process if no server answers any more; monotonic milliseconds. For a
   * session with holds that is their deadline.
   */
  get endsAt(): number {
    if (this.isEnded) return -Infinity;
    return this.#holdings.size > 0 ? this.deadline : this.#presumedUntil;
  }

  /** True if a quorum write of the session was ever answered. Before that, the session has no deadline. */
  get isProven(): boolean {
    return this.deadline !== -Infinity;
  }

  /** `host:port` of the last connection or attempt. */
  get server(): string {
    return this.#connection.server;
  }

  /** The time of the servers' last answer to a request or a ping; monotonic milliseconds. */
  get heardAt(): number {
    return this.#connection.heardAt;
  }

  /** The time of the servers' last answer to a request; monotonic milliseconds. A ping is no request. */
  get answeredAt(): number {
    return this.#connection.answeredAt;
  }

  get lastError(): unknown {
    return this.#connection.lastError;
  }

  /** The last error of each server that was tried since a server served the session, by `host:port`. */
  get failures(): ReadonlyMap<string, unknown> {
    return this.#connection.history.failures;
  }

  /** The last reason why a server refused this client's account, since a server served the session. */
  get refusal(): SaslRefusal | undefined {
    return this.#connection.history.refusal;
  }

  /** The time since which the connected server owes an answer; undefined if it owes none. Monotonic milliseconds. */
  get unansweredSince(): number | undefined {
    return this.#connection.unansweredSince;
  }

  /** The holds of this session now. */
  get holdings(): ReadonlySet<Holding> {
    return this.#holdings;
  }

  /** The number of locks that the application holds by this session. */
  get lockCount(): number {
    let count = 0;
    for (const { isInner } of this.#holdings) if (!isInner) count += 1;
    return count;
  }

  /**
   * How long this process did not run just now, because it was stopped or its event loop was blocked; in milliseconds.
   * Undefined if it ran.
   */
  get stalledMs(): number | undefined {
    const now = this.#clock.now();
    this.#noteStall(now);
    return this.#stall && now - this.#stall.endedAt < this.timeoutMs / 4 ? this.#stall.forMs : undefined;
  }

  /** True if every host was tried since the session was presumed to be over, and none answered. */
  get isUnanswered(): boolean {
    return this.#connection.history.areAllSilent;
  }

  /**
   * True if `isUnanswered`, and one of the hosts accepted the connection: a server is running, and refuses without a
   * reply.
   */
  get isRefused(): boolean {
    return this.#connection.history.isRefused;
  }

  /**
   * Rejects with a ZooKeeperError: the server's, or CONNECTION_LOSS if there is no connection or it ends before the
   * answer.
   */
  request<T>(operation: Operation<T>): Promise<Reply<T>> {
    return this.#connection.send(operation);
  }

  /** Calls `listener` at every change of `state`, and when the deadline passes. */
  onChange(listener: () => void): () => void {
    return this.#changes.add(listener);
  }

  /**
   * Calls `listener` at every watch event that the servers report to this session. Watches that were planted by
   * `request` end with the connection, and are not planted again.
   */
  onWatchEvent(listener: (event: WatchEvent) => void): () => void {
    return this.#watchEvents.add(listener);
  }

  /** Compares the deadline with the clock now, so a timer that never ran cannot make a dead session look alive. */
  isAlive(): boolean {
    if (this.isEnded) return false;
    const now = this.#clock.now();
    if (now >= this.#overdueAt) this.#passDeadline();
    return now < this.deadline;
  }

  /** Resolves with the value of the answer, or with undefined if the znode does not exist. */
  find<T>(operation: Operation<T>): Promise<T | undefined> {
    return this.request(operation).then(({ value }) => value, whenNoNode(undefined));
  }

  /**
   * Asks a question that may be repeated. If the answer is lost, asks again on the next connection. Resolves with
   * undefined if the session has ended, or if the deadline may not wait for a connection.
   */
  async ask<T>(question: Question<T, Session>, deadline?: Deadline): Promise<T | undefined> {
    deadline?.check();
    return untilAnswered<T, Session, undefined>(question, this, async () =>
      deadline?.mayWait !== false && (await this.whenConnected(deadline)) ? this : undefined,
    );
  }

  /** Waits for the next connection of the session. Resolves with false if the session has ended instead. */
  async whenConnected(deadline?: Deadline): Promise<boolean> {
    deadline?.check();
    if (this.isConnected) return true;
    if (this.isEnded) return false;
    return waitBefore(deadline, (wake) =>
      this.onChange(() => {
        if (this.isConnected || this.isEnded) wake(this.isConnected);
      }),
    );
  }

  /**
   * Reads the znode, and calls `listener` at its next event. If the znode does not exist, resolves with undefined and
   * plants no watch, unless `what` is `creation`. If the answer was lost, the next connection plants the watch again.
   */
  async watch<What extends keyof Watched>(
    path: string,
    what: What,
    listener: WatchListener,
  ): Promise<Watched[What] | undefined> {
    this.#watches[watchKindOf(what)].add(path, listener);
    const there = await this.find(watchQuestions[what](path));
    if (what === 'creation' && there !== undefined) this.unwatch(path, what, listener, { forget: true });
    if (what !== 'creation' && there === undefined) this.unwatch(path, what, listener, { forget: false });
    return there;
  }

  /** `forget` also removes the watch from the server, which otherwise keeps it as long as the znode exists. */
  unwatch(path: string, what: keyof Watched, listener: WatchListener, options: { forget: boolean }): void {
    const kind = watchKindOf(what);
    if (!this.#watches[kind].delete(path, listener) || !options.forget || !this.isConnected) return;
    void inNoContext(() => this.request(removeWatch(path, kind)).catch(ignore));
  }

  /** True if a listener waits for the next event of the znode. Then the znode still exists, unchanged. */
  isWatching(path: string): boolean {
    return this.#watches.data.has(path);
  }

  hold(holding: Holding): void {
    if (this.#holdings.has(holding)) return;
    this.#holdings.add(holding);
    this.#schedule.need();
    // From now on, a silent connection is given up sooner, and heartbeats go on.
    if (this.#holdings.size === 1) this.#activate();
  }

  /**
   * Sends heartbeats until the returned function is called, because the next event may let a waiter be granted. A stale
   * session attaches anew first. Otherwise its heartbeats would go on without a proof until the leader has learned of
   * the first one.
   *
   * @param znode the waiter's znode, which the proof checks too
   */
  keepProven(znode?: Checked): () => void {
    let isKept = true;
    if (this.isStale) void this.attach(znode);
    this.#schedule.need();
    this.#activate();
    return () => {
      if (isKept) this.#schedule.needNoMore(this.#clock.now());
      isKept = false;
    };
  }

  /** The hold was released, or the job that it belonged to has noticed its loss. */
  settle(holding: Holding): void {
    if (this.#holdings.delete(holding)) this.#schedule.needNoMore(this.#clock.now());
    if (this.#holdings.size === 0 && this.#state.at === 'ended' && mayLiveOn(this.#state.why))
      this.#owner.settled?.(this);
  }

  /** Calls `run` when the present deadline has passed. Returns a function that cancels the call. */
  afterDeadline(run: () => void): () => void {
    return this.#clock.after(Math.max(0, this.deadline - this.#clock.now()), run);
  }

  /**
   * Sends a `sync`. The server catches up with its leader before it answers the requests that follow in the same tick.
   */
  catchUp(path: string): void {
    void inNoContext(() => this.request(sync(path)).catch(ignore));
  }

  /** True if a hold that began now would be proven again before its deadline. */
  get hasTimeToGrant(): boolean {
    return this.#schedule.beforeGrant(this.#proof, this.#clock.now()) === 'nothing';
  }

  /** True if a grant needs that the session attaches anew first, because the session was quiet. */
  get isStale(): boolean {
    const now = this.#clock.now();
    if (this.#options.traits?.forgetsSessions === true) return false;
    return now >= this.#attachNotBefore && this.#schedule.beforeGrant(this.#proof, now) === 'attach';
  }

  /**
   * The shortest time in which a proof can arrive, in milliseconds, because the leader must learn of it. Asking more
   * often does not bring it earlier.
   */
  get proofPauseMs(): number {
    return this.timeoutMs / 24;
  }

  /**
   * Sends a quorum write, and a sync behind it. They keep the session alive, and prove that it is. A stale session
   * attaches anew first.
   *
   * @param znode a waiter's znode. The write is a transaction that checks whether it exists
   */
  prove(znode?: Checked): Promise<void> {
    if (this.isStale && this.isConnected) return this.attach(znode);
    if (znode) this.#toCheck.add(znode);
    // Between two heartbeats, the pause until the next one stays as it is. Otherwise each further proof would postpone
    // the heartbeat that carries the write before it past a ping of the leader.
    const isBetween = this.#schedule.isActive(this.#clock.now(), this.timeoutMs);
    return inNoContext(() => (isBetween ? this.#checkAndSync(nothing) : this.#heartbeat()));
  }

  /**
   * Attaches anew: connects to the same server, with a ConnectRequest for this session. That touches the leader, and
   * writes no transaction. The first quorum write on the new connection is the proof, and is sent at once. Requests
   * that are made meanwhile are sent behind it. Resolves when that write is answered, or the connection is lost.
   *
   * @param znode a waiter's znode, which that write checks too
   */
  attach(znode?: Checked): Promise<void> {
    if (!this.isConnected) return Promise.resolve();
    if (znode) this.#toCheck.add(znode);
    if (this.#attaching) return this.#attaching.ended;
    let end = nothing;
    const ended = new Promise<void>((resolve) => (end = resolve));
    this.#attaching = { ended, end };
    // The next heartbeat is the one that follows the attach. If the attach takes long, the proof begins on the present
    // connection.
    this.#pulseAt(this.#clock.now() + this.timeoutMs / 24);
    this.#scheduleTick();
    this.#connection.attach(this.timeoutMs / 4);
    return ended;
  }

  /**
   * Ends the session on the server, which deletes its znodes. If no server answers within `timeoutMs`, the session is
   * left to expire. Resolves at once if the session has no connection and no znode.
   */
  close(timeoutMs: number): Promise<void> {
    if (this.#state.at === 'ended') return Promise.resolve();
    const closed = new Promise<void>((resolve) => {
      const cancel = this.#clock.after(timeoutMs, () => this.abandon());
      const stop = this.onChange(() => {
        if (this.#state.at !== 'ended') return;
        stop();
        cancel();
        resolve();
      });
    });
    if (this.#state.at !== 'closing') this.#beginToClose();
    return closed;
  }

  /** Ends the session in this process only, without a message to the server. */
  abandon(): void {
    this.#end('closed');
  }

  /**
   * Ends the session in this process only. The servers have older data and will never answer it, and a new session
   * replaces it.
   */
  replace(): void {
    this.#end('replaced');
  }

  /** Gives the session to another owner. */
  adopt(owner: SessionOwner<Session>): void {
    this.#owner = owner;
  }

  // The methods of ConnectionListener.

  attemptMs(unansweredRounds: number, measuredMs: number): number {
    const bound = this.#holdings.size > 0 ? this.deadline : this.#presumedUntil;
    const until = this.epoch === 0 ? this.#options.connectBy : bound;
    return attemptMs({
      sessionTimeoutMs: this.#options.sessionTimeoutMs,
      unansweredRounds,
      measuredMs,
      leftMs: until - this.#clock.now(),
      isSecure: (this.#options.tls ?? this.#options.sasl) !== undefined,
    });
  }

  unanswered({ startedAt, wasAccepted }: UnansweredAttempt): void {
    if (startedAt < this.#presumedUntil) return;
    this.#connection.history.unanswered(wasAccepted);
    if (this.isUnanswered) this.#owner.unanswered?.(this);
  }

  connected(connectSentAt: number): void {
    this.epoch += 1;
    this.connectedAt = this.#clock.now();
    this.#answeredSentAt = connectSentAt;
    this.#proof = learn(this.#proof, { is: 'granted', sentAt: connectSentAt, timeoutMs: this.#connection.timeoutMs });
    const isAttach = this.#attaching !== undefined;
    if (this.#state.at === 'closing') {
      this.#attached();
      // The request of a session that attached was held back, and follows now.
      if (!isAttach) this.#askToClose();
      return;
    }
    const now = this.#clock.now();
    if (this.#holdings.size > 0 && now >= this.#overdueAt) {
      // After a stall, the answer was read before the timer of the deadline ran. No listener may see this connection.
      this.#passDeadline();
      return;
    }
    this.#become({ at: 'connected', pulseAt: this.#schedule.pulseAfter(now, this.timeoutMs) });
    if (!isAttach) this.#owner.connected?.(this);
    // A quiet session that reconnects writes nothing. Otherwise the restart of a server would cost one transaction for
    // each client. The answer to the ping shows that this server accepts the client's account.
    if (!isAttach && this.isProven && !this.#schedule.isActive(now, this.timeoutMs)) {
      this.#connection.ping();
      this.#scheduleTick();
      return;
    }
    void this.#heartbeat(isAttach ? () => this.#attached() : nothing).catch(ignore);
  }

  attachFailed(): void {
    this.#attachNotBefore = this.#clock.now() + this.timeoutMs;
    this.#attached();
    if (this.#state.at === 'connected') void this.#heartbeat().catch(ignore);
  }

  disconnected(): void {
    this.#proof = learn(this.#proof, { is: 'disconnected' });
    // The waiters prove the session again on the next connection.
    this.#toCheck.clear();
    this.#attached();
    if (this.#state.at === 'closing') this.#abandonIfEmpty();
    if (this.#state.at !== 'connected') return;
    this.#become({ at: 'suspended' });
    this.#owner.suspended?.(this);
    this.#scheduleTick();
  }

  expired(): void {
    this.#end(this.#state.at === 'closing' ? 'closed' : 'expired');
  }

  authFailed(): void {
    this.#end('auth-failed');
  }

  pinged(sentAt: number): void {
    this.#answeredSentAt = Math.max(this.#answeredSentAt, sentAt);
    this.#tellAnswered();
  }

  answered(operation: Operation<unknown>, sentAt: number, error: number): void {
    if (error !== 0) {
      // The error is about the session or the server, not about the request. Only the next ConnectResponse can show the
      // true state.
      if (new ZooKeeperError(error, operation.name, operation.path).isRetryable)
        this.#connection.drop(new Error(`the server answered ${operation.name} with error ${error}`));
      return;
    }
    this.#answeredSentAt = Math.max(this.#answeredSentAt, sentAt);
    if (operation.kind === 'write' && !makesParents.has(operation.name)) this.writesAnswered += 1;
    const before = this.#proof;
    this.#proof = learn(
      this.#proof,
      { is: 'answered', kind: operation.kind, sentAt, answeredAt: this.answeredAt },
      this.#options.tickTimeMs,
    );
    if (before.provenAt === -Infinity && this.#proof.provenAt !== -Infinity) this.#changes.tell();
    this.#tellAnswered();
  }

  #tellAnswered(): void {
    if (this.#answeredEpoch === this.epoch || this.#state.at !== 'connected') return;
    this.#answeredEpoch = this.epoch;
    this.#owner.answered?.(this);
  }

  /** The server reports the deletion of a znode once, for both kinds of watches. */
  watchFired(path: string, event: WatchEventType): void {
    if (event !== 'children') this.#watches.data.fire(path, event);
    if (event === 'children' || event === 'deleted') this.#watches.children.fire(path, event);
    if (!this.#watchEvents.isEmpty) this.#watchEvents.tell({ path, type: event });
  }

  watchedPaths(kind: WatchKind): string[] {
    return this.#watches[kind].paths();
  }

  warn(message: string, error: unknown): void {
    this.#owner.warn?.(message, error);
  }

  #heartbeat(written: () => void = nothing): Promise<void> {
    this.#pulseAt(Infinity);
    this.#schedule.beat(this.#clock.now());
    return this.#checkAndSync((isAnswered) => {
      const now = this.#clock.now();
      if (isAnswered) this.#schedule.beat(now);
      this.#pulseAt(this.#schedule.pulseAfter(now, this.timeoutMs));
      written();
    });
  }

  /** Checks the holds and the waiters' znodes in quorum writes, and sends a sync behind them. */
  async #checkAndSync(written: (isAnswered: boolean) => void): Promise<void> {
    const checks = this.#sendChecks();
    this.#scheduleTick();
    let isAnswered = false;
    try {
      await Promise.all(checks);
      isAnswered = true;
    } finally {
      // Also after an error, because an error that leaves the connection open must not stop the heartbeats.
      written(isAnswered);
      this.#scheduleTick();
    }
    const synced = this.request(absolute(sync('/')));
    this.#scheduleTick();
    await synced;
  }

  /** At least one quorum write. Each waiter's znode has a transaction of its own, so that no other znode refuses it. */
  #sendChecks(): Promise<void>[] {
    const checks = [...this.#toCheck].map((znode) =>
      this.#check([znode.path], (errors) => {
        if (errors[0]?.is('NO_NODE')) znode.markDeleted();
      }),
    );
    this.#toCheck.clear();
    const holdings = this.#nextToCheck();
    if (holdings.length === 0) return checks.length > 0 ? checks : [this.request(checkServers()).then(nothing)];
    const ofHolds = this.#check(
      holdings.map((holding) => holding.path),
      (errors) => {
        const deleted = holdings.filter((_, index) => errors[index]?.is('NO_NODE'));
        loseAll(deleted, 'node-deleted');
        for (const holding of deleted) holding.znodeDeleted();
      },
    );
    return [ofHolds, ...checks];
  }

  async #check(
    paths: readonly string[],
    refused: (errors: readonly (ZooKeeperError | undefined)[]) => void,
  ): Promise<void> {
    const { value } = await this.request(check(paths));
    if (value.is === 'refused') refused(value.errors);
  }

  /** A sync shows that the server still reaches its leader. A server without a leader answers pings for a while. */
  #pulseQuietly(now: number): void {
    this.#pulseAt(this.#schedule.pulseAfter(now, this.timeoutMs));
    if (this.znodes > 0) void this.request(absolute(sync('/'))).catch(ignore);
    else this.#connection.ping();
    this.#scheduleTick();
  }

  #pulseAt(pulseAt: number): void {
    if (this.#state.at === 'connected') this.#state = { at: 'connected', pulseAt };
  }

  /** The session may just have become active: the first heartbeat may be due earlier than the next quiet pulse. */
  #activate(): void {
    if (this.#state.at === 'connected' && this.#state.pulseAt < Infinity) {
      const firstAt = this.#schedule.firstBeatAt(this.#clock.now(), this.timeoutMs);
      if (firstAt < this.#state.pulseAt) this.#pulseAt(firstAt);
    }
    this.#scheduleTick();
  }

  #attached(): void {
    this.#attaching?.end();
    this.#attaching = undefined;
  }

  /** At most a hundred holds. The next heartbeat checks the next hundred. */
  #nextToCheck(): Holding[] {
    const all = [...this.#holdings];
    const from = this.#checkedUpTo < all.length ? this.#checkedUpTo : 0;
    const some = all.slice(from, from + mostChecks);
    this.#checkedUpTo = from + some.length;
    return some;
  }

  /** Sets the timer to an earlier time if necessary. A timer that fires too early sets itself again. */
  #scheduleTick(): void {
    if (this.#state.at === 'ended' || this.epoch === 0) return;
    const now = this.#clock.now();
    this.#noteStall(now);
    const silentAt = this.#silentAt(now);
    const overdueAt = this.#overdueAt;
    let dueAt = overdueAt;
    if (this.#state.at === 'connected') dueAt = Math.min(silentAt, overdueAt, this.#state.pulseAt);
    if (this.#state.at === 'closing') dueAt = this.#connection.isConnected ? silentAt : Infinity;
    if (dueAt >= this.#tickAt || dueAt === Infinity) return;
    this.#cancelTick();
    this.#tickAt = Math.max(dueAt, now);
    this.#cancelTick = this.#clock.after(Math.max(0, dueAt - now), () => this.#tick());
  }

  #stopTicks(): void {
    this.#noteStall(this.#clock.now());
    this.#cancelTick();
    this.#tickAt = Infinity;
  }

  /** Must be called before the time of the next tick is changed. */
  #noteStall(now: number): void {
    if (now - this.#tickAt >= this.timeoutMs / 4) this.#stall = { forMs: now - this.#tickAt, endedAt: now };
  }

  #tick(): void {
    const now = this.#clock.now();
    this.#noteStall(now);
    this.#tickAt = Infinity;
    if (this.#state.at === 'connected' && now >= this.#state.pulseAt) {
      // A session whose first proof was refused tries again.
      if (!this.isProven || this.#schedule.isActive(now, this.timeoutMs)) void this.#heartbeat().catch(ignore);
      else this.#pulseQuietly(now);
    } else if (this.#isSilent(now) || now >= this.#overdueAt) {
      // After a stall, the answers may lie unread in the socket. So they are read before the session is judged.
      this.#clock.afterPoll(() => this.#judge());
    } else {
      this.#scheduleTick();
    }
  }

  #judge(): void {
    const now = this.#clock.now();
    if (!this.isEnded && now >= this.#overdueAt) this.#passDeadline();
    if (this.#state.at !== 'ended' && this.#isSilent(now)) {
      const forMs = Math.round(this.#silentAt(now) - (this.#connection.unansweredSince ?? now));
      this.#connection.drop(new Error(`the server has not answered for ${forMs} ms or more`));
    }
    this.#scheduleTick();
  }

  /**
   * After this time the session is presumed to be over, though a new leader may still give it its whole timeout again.
   * The time says nothing about a hold: see `deadline`.
   */
  get #presumedUntil(): number {
    // The session never connected, or is resumed only in order to close it.
    if (this.epoch === 0 || this.#options.resume) return -Infinity;
    return this.#answeredSentAt + this.timeoutMs;
  }

  #isSilent(now: number): boolean {
    return this.#connection.unansweredSince !== undefined && now >= this.#silentAt(now);
  }

  #silentAt(now: number): number {
    const unansweredSince = this.#connection.unansweredSince ?? now;
    const isUrgent = this.#holdings.size > 0 || this.#state.at === 'closing';
    const usual = silentAt({ unansweredSince, answeredSentAt: this.#answeredSentAt, isUrgent }, this.timeoutMs);
    // A server that grants a session and then keeps silent must leave half of the time to connect for the other servers.
    // The last of the servers gets all of it. Otherwise a server whose first write is slow would never get an answer through.
    const isLast = this.epoch >= this.#options.hosts.length;
    const leftMs = this.isProven || isLast ? 0 : this.#options.connectBy - unansweredSince;
    return leftMs > 0 ? Math.min(usual, unansweredSince + leftMs / 2) : usual;
  }

  /**
   * The time at which the holds are lost. For a session without holds, which has nothing to lose while it is connected:
   * the time at which it is presumed to be over. A session that was never proven has no such time.
   */
  get #overdueAt(): number {
    if (!this.isProven || this.#state.at === 'overdue') return Infinity;
    if (this.#holdings.size > 0) return this.deadline;
    return this.isConnected ? Infinity : this.#presumedUntil;
  }

  #passDeadline(): void {
    if (this.#holdings.size > 0) {
      this.#end('lost');
    } else {
      this.#become({ at: 'overdue' });
      this.#owner.overdue?.(this);
    }
  }

  #beginToClose(): void {
    const wasConnected = this.isConnected;
    this.#stopTicks();
    // Before the holds are lost, because a listener of a loss may look at the session. If its deadline has passed, it
    // would end, and its znodes would stay until its timeout.
    this.#state = { at: 'closing' };
    loseAll([...this.#holdings], 'client-closed');
    this.#changes.tell();
    if (!wasConnected) {
      this.#abandonIfEmpty();
      return;
    }
    this.#connection.stopAttaching();
    this.#askToClose();
  }

  /**
   * Without a connection, a session that has no znodes need not be closed. It expires by itself, and blocks no queue.
   */
  #abandonIfEmpty(): void {
    if (!this.#options.resume && (this.epoch === 0 || this.znodes === 0)) this.abandon();
  }

  /** Repeated on the next connection if this one ends before the answer. */
  #askToClose(): void {
    this.request(closeSession()).then(
      () => this.#end('closed'),
      (error: unknown) => {
        if (error instanceof ZooKeeperError && !error.is('CONNECTION_LOSS')) this.#connection.drop(error);
      },
    );
    this.#scheduleTick();
  }

  #end(why: SessionEnd): void {
    if (this.#state.at === 'ended') return;
    this.#stopTicks();
    this.#state = { at: 'ended', why };
    const held = this.lockCount;
    loseAll([...this.#holdings], why === 'expired' ? 'session-expired' : 'session-deadline');
    this.#connection.abandon();
    this.#attached();
    this.#changes.tell();
    this.#owner.ended?.(this, why, held);
    if (mayLiveOn(why) && this.#holdings.size === 0) this.#owner.settled?.(this);
  }

  #become(state: SessionState): void {
    this.#state = state;
    this.#changes.tell();
  }
}

export type SessionState =
  | { readonly at: 'connecting' }
  /**
   * `pulseAt`: the time of the next heartbeat, or of the next sync or ping if the session is quiet. Infinity while a
   * heartbeat is outstanding.
   */
  | { readonly at: 'connected'; readonly pulseAt: number }
  | { readonly at: 'suspended' }
  /** Suspended beyond its deadline, without holds. No server has said yet whether the session is alive. */
  | { readonly at: 'overdue' }
  | { readonly at: 'closing' }
  | { readonly at: 'ended'; readonly why: SessionEnd };

/**
 * The ways in which a session ends a hold: at the deadline, on the servers' answer, by the deletion of its znode, or by
 * `close()`.
 */
export type SessionLoss = 'session-expired' | 'session-deadline' | 'node-deleted' | 'client-closed';

/** A change that a watch has reported. */
export interface WatchEvent {
  readonly path: string;
  readonly type: WatchEventType;
}

/** A znode by which a lock is held. The hold ends with the session, or with the znode. */
export interface Holding {
  readonly path: string;
  /** The time of the grant, by the wall clock of this process. */
  readonly heldSince: number;
  /** True for a hold that the application does not have: the turn and the first leases of a call that still waits. */
  readonly isInner: boolean;
  /** Marks the hold as lost. Calls no listener. */
  markLost(reason: SessionLoss): void;
  /** Tells the listeners that the hold is lost. */
  tellLost(): void;
  /** The servers have no such znode. The waiters of this process behind it move up. */
  znodeDeleted(): void;
}

/** The znode of a waiter, which a quorum write checks before the waiter's grant. */
export interface Checked {
  readonly path: string;
  markDeleted(): void;
}

/** The session attaches anew. `ended` resolves when its first write was answered, or the connection was lost. */
interface Attaching {
  readonly ended: Promise<void>;
  readonly end: () => void;
}

export interface SessionOptions extends ConnectionOptions {
  /** The time before which the first server must have answered; monotonic milliseconds. */
  readonly connectBy: number;
  /** The servers' tick in milliseconds, if known. */
  readonly tickTimeMs: number | undefined;
}

const mostChecks = 100;

const makesParents: ReadonlySet<string> = new Set(['create', 'createContainer']);

/** All holds are marked as lost before the first listener is called, because a listener may look at any of them. */
function loseAll(holdings: readonly Holding[], reason: SessionLoss): void {
  for (const holding of holdings) holding.markLost(reason);
  for (const holding of holdings) holding.tellLost();
}

/** A session id written as in the servers' logs: `0x100000a2b3c0001`. */
export function sessionName(id: bigint): string {
  return `0x${BigInt.asUintN(64, id).toString(16)}`;
}

/** True if the servers may still know a session that ended in this way. */
function mayLiveOn(why: SessionEnd): boolean {
  return why === 'lost' || why === 'replaced';
}

function ignore(): void {
  // The failure also shows as a change of the session's state.
}

function nothing(): void {
  // Only the time of the answer counts.
}
