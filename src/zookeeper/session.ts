import { inNoContext } from '../support/no-context.js';
import { Admission } from './admission.js';
import { attemptMs } from './attempt-time.js';
import type { CancelTimer, Clock } from '../support/clock.js';
import { Connection } from './connection.js';
import type { ConnectionListener, UnansweredAttempt } from './connection-listener.js';
import type { ConnectionOptions } from './connection-options.js';
import type { SessionIdentity } from './wire-session.js';
import { Companions } from '../support/companions.js';
import { Listeners } from '../support/listeners.js';
import { waitBefore, type Deadline } from '../support/deadline.js';
import { loseAll, type Holding } from './holding.js';
import { endsAt, isOver, isProven, isSettled, newLife, overdueAt, presumedUntil, type SessionState } from './life.js';
import { absolute, closeSession, sync, type Operation, type WatchEventType, type WatchKind } from './operations.js';
import { beforeGrant } from './proof-schedule.js';
import { Prover, type Checked } from './prover.js';
import type { Reply } from './replies.js';
import type { SaslRefusal } from './sasl-handshake.js';
import { deadlineOf } from './session-clock.js';
import { step, type Fact, type Order } from './session-life.js';
import type { SessionEnd, SessionOwner } from './session-owner.js';
import { SessionWatches, type WatchEvent } from './session-watches.js';
import { untilAnswered, type Question } from './until-answered.js';
import { stalledMs, type Owed } from './wake-up.js';
import type { Watched, WatchListener } from './watches.js';
import { whenNoNode, ZooKeeperError } from './zookeeper-error.js';

/**
 * One ZooKeeper session: `session-life.ts` decides, and this class has the connection and the timer. It feeds each fact to
 * the life, and carries out its orders within the same turn.
 */
export class Session implements ConnectionListener {
  readonly #options: SessionOptions;
  readonly #clock: Clock;
  readonly #connection: Connection;
  readonly #prover: Prover;
  readonly #watches = new SessionWatches(this);
  readonly #holdings = new Set<Holding>();
  readonly #changes = new Listeners<void>();
  #owner: SessionOwner<Session>;
  #life;
  /** The last proof. It rejects if the connection ends before the answers. */
  #proving = Promise.resolve();
  #attaching: Attaching | undefined;
  #tick: { readonly at: number; readonly cancel: CancelTimer } = noTick;
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
  /** The acquires that wait to begin. */
  readonly admission: Admission;
  /** The objects that locks keep for this session. */
  readonly companions = new Companions<Session>(this);

  constructor(options: SessionOptions, owner: SessionOwner<Session>) {
    const { clock, tickTimeMs, connectBy, hosts, resume } = options;
    this.#options = options;
    this.#clock = clock;
    this.#owner = owner;
    this.#life = newLife({ tickTimeMs, connectBy, hosts: hosts.length, isResumed: resume !== undefined });
    this.#prover = new Prover({
      holdings: this.#holdings,
      request: (operation) => this.request(operation),
      sent: () => this.#feed({ is: 'sent', ...this.#owed }),
    });
    this.#connection = new Connection(options, this);
    this.admission = new Admission(() => this.#connection.room, clock);
    this.#connection.connect();
  }

  get state(): SessionState {
    return this.#life.state;
  }

  get isConnected(): boolean {
    return this.#life.state.at === 'connected';
  }

  get isEnded(): boolean {
    return isOver(this.#life);
  }

  /** The number of connections that this session has had. An answer on one connection says nothing about another. */
  get epoch(): number {
    return this.#life.epoch;
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
    return this.#life.proof.timeoutMs;
  }

  /** A hold of this session is valid only before this time; monotonic milliseconds. */
  get deadline(): number {
    return deadlineOf(this.#life.proof);
  }

  /**
   * The time at which the session is over for this process if no server answers any more; monotonic milliseconds. For a
   * session with holds that is their deadline.
   */
  get endsAt(): number {
    return this.isEnded ? -Infinity : endsAt(this.#life);
  }

  /** True if a quorum write of the session was ever answered. Before that, the session has no deadline. */
  get isProven(): boolean {
    return isProven(this.#life);
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

  /** The time since which the overloaded server has put requests off; undefined if it puts none off now. */
  get postponedSince(): number | undefined {
    return this.#connection.postponedSince;
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
    return stalledMs(this.#life, this.#clock.now());
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
    return this.#watches.onEvent(listener);
  }

  /** Compares the deadline with the clock now, so a timer that never ran cannot make a dead session look alive. */
  isAlive(): boolean {
    if (this.isEnded) return false;
    const now = this.#clock.now();
    if (now >= overdueAt(this.#life)) this.#feed({ is: 'looked' });
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
  watch<What extends keyof Watched>(path: string, what: What, told: WatchListener): Promise<Watched[What] | undefined> {
    return this.#watches.plant(path, what, told);
  }

  /** `forget` also removes the watch from the server, which otherwise keeps it as long as the znode exists. */
  unwatch(path: string, what: keyof Watched, told: WatchListener, options: { readonly forget: boolean }): void {
    this.#watches.remove(path, what, told, options);
  }

  /** True if a listener waits for the next event of the znode. Then the znode still exists, unchanged. */
  isWatching(path: string): boolean {
    return this.#watches.has(path);
  }

  hold(holding: Holding): void {
    if (this.#holdings.has(holding)) return;
    this.#holdings.add(holding);
    this.#feed({ is: 'held', ...this.#owed });
  }

  /** The hold was released, or the job that it belonged to has noticed its loss. */
  settle(holding: Holding): void {
    if (this.#holdings.delete(holding)) this.#feed({ is: 'freed' });
    this.#tellSettled();
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
    this.#feed({ is: 'needed', ...this.#owed });
    return () => {
      if (isKept) this.#feed({ is: 'needed-no-more' });
      isKept = false;
    };
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
    return this.#beforeGrant === 'nothing';
  }

  /** True if a grant needs that the session attaches anew first, because the session was quiet. */
  get isStale(): boolean {
    return this.#options.traits?.forgetsSessions !== true && this.#beforeGrant === 'attach';
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
    if (znode) this.#prover.add(znode);
    inNoContext(() => this.#feed({ is: 'proof-wanted' }));
    return this.#proving;
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
    if (znode) this.#prover.add(znode);
    const { ended } = (this.#attaching ??= newAttaching());
    this.#feed({ is: 'attach-wanted' });
    return ended;
  }

  /**
   * Ends the session on the server, which deletes its znodes. If no server answers within `timeoutMs`, the session is
   * left to expire. Resolves at once if the session has no connection and no znode.
   */
  close(timeoutMs: number): Promise<void> {
    if (this.state.at === 'ended') return Promise.resolve();
    const closed = new Promise<void>((resolve) => {
      const cancel = this.#clock.after(timeoutMs, () => this.abandon());
      const stop = this.onChange(() => {
        if (this.state.at !== 'ended') return;
        stop();
        cancel();
        resolve();
      });
    });
    this.#feed({ is: 'close' });
    return closed;
  }

  /** Ends the session in this process only, without a message to the server. */
  abandon(): void {
    this.#feed({ is: 'end', why: 'closed' });
  }

  /**
   * Ends the session in this process only. The servers have older data and will never answer it, and a new session
   * replaces it.
   */
  replace(): void {
    this.#feed({ is: 'end', why: 'replaced' });
  }

  /** Gives the session to another owner. */
  adopt(owner: SessionOwner<Session>): void {
    this.#owner = owner;
  }

  // The methods of ConnectionListener.

  attemptMs(unansweredRounds: number, measuredMs: number): number {
    const { connectBy, sessionTimeoutMs, tls, sasl } = this.#options;
    const leftMs = (this.epoch === 0 ? connectBy : endsAt(this.#life)) - this.#clock.now();
    const isSecure = (tls ?? sasl) !== undefined;
    return attemptMs({ sessionTimeoutMs, unansweredRounds, measuredMs, leftMs, isSecure });
  }

  unanswered({ startedAt, wasAccepted }: UnansweredAttempt): void {
    if (startedAt < presumedUntil(this.#life)) return;
    this.#connection.history.unanswered(wasAccepted);
    if (this.isUnanswered) this.#owner.unanswered?.(this);
  }

  connected(sentAt: number): void {
    this.connectedAt = this.#clock.now();
    this.#feed({ is: 'granted', sentAt, timeoutMs: this.#connection.timeoutMs });
  }

  disconnected(): void {
    this.#prover.forget();
    this.#feed({ is: 'cut' });
  }

  expired(): void {
    this.#feed({ is: 'end', why: this.state.at === 'closing' ? 'closed' : 'expired' });
  }

  authFailed(): void {
    this.#feed({ is: 'end', why: 'auth-failed' });
  }

  pinged(sentAt: number): void {
    this.#feed({ is: 'ponged', sentAt });
  }

  /** The attach has ended without a new connection, and the old one still stands. */
  attachFailed(): void {
    this.#feed({ is: 'attach-failed' });
  }

  answered({ kind, name, path }: Operation<unknown>, sentAt: number, error: number): void {
    if (error === 0) {
      if (kind === 'write' && !makesParents.has(name)) this.writesAnswered += 1;
      this.#feed({ is: 'answered', kind, sentAt, answeredAt: this.answeredAt });
    } else if (new ZooKeeperError(error, name, path).isRetryable) {
      // The error is about the session or the server, not about the request. Only the next ConnectResponse can show the
      // true state.
      this.#connection.drop(new Error(`the server answered ${name} with error ${error}`));
    }
  }

  roomMade(): void {
    this.admission.admitSome();
  }

  watchFired(path: string, event: WatchEventType): void {
    this.#watches.fired(path, event);
  }

  watchedPaths(kind: WatchKind): string[] {
    return this.#watches.paths(kind);
  }

  warn(message: string, error: unknown): void {
    this.#owner.warn?.(message, error);
  }

  #feed(fact: Fact): void {
    const { life, orders } = step(this.#life, fact, this.#clock.now());
    this.#life = life;
    this.#setTick(life.wakeAt);
    for (const order of orders) {
      // A listener that was called for the order before may have ended the session.
      if (this.#life.state.at === 'ended' && life.state.at !== 'ended') return;
      this.#carryOut(order);
    }
  }

  #setTick(at: number): void {
    if (at === this.#tick.at) return;
    this.#tick.cancel();
    this.#tick = noTick;
    if (at === Infinity) return;
    const cancel = this.#clock.after(Math.max(0, at - this.#clock.now()), () => {
      this.#tick = noTick;
      this.#feed({ is: 'tick', hasZnodes: this.znodes > 0, ...this.#owed });
    });
    this.#tick = { at, cancel };
  }

  #carryOut(order: Order): void {
    switch (order.do) {
      case 'prove':
        return this.#prove(order.as === 'heartbeat');
      case 'ping':
        this.#connection.ping();
        return this.#feed({ is: 'sent', ...this.#owed });
      case 'sync':
        void this.request(absolute(sync('/'))).catch(ignore);
        return this.#feed({ is: 'sent', ...this.#owed });
      case 'attach':
        return this.#connection.attach(order.drainMs);
      case 'end-attach':
        this.#attaching?.end();
        this.#attaching = undefined;
        return;
      case 'poll':
        return this.#clock.afterPoll(() => this.#feed({ is: 'polled', ...this.#owed }));
      case 'drop':
        return this.#connection.drop(
          new Error(`the server has not answered for ${Math.round(order.silentMs)} ms or more`),
        );
      case 'tell':
        return this.#changes.tell();
      case 'resume':
        this.#changes.tell();
        if (!order.isAttach) this.#owner.connected?.(this);
        return this.#feed({ is: 'resumed' });
      case 'suspend':
        this.#changes.tell();
        return this.#owner.suspended?.(this);
      case 'tell-served':
        return this.#owner.answered?.(this);
      case 'tell-overdue':
        this.#changes.tell();
        return this.#owner.overdue?.(this);
      case 'lose':
        return loseAll([...this.#holdings], 'client-closed');
      case 'ask-to-close':
        return this.#askToClose();
      case 'leave-if-empty':
        if (!this.#options.resume && (this.epoch === 0 || this.znodes === 0)) this.abandon();
        return;
      case 'end':
        return this.#end(order.why);
    }
  }

  #prove(isHeartbeat: boolean): void {
    const { epoch } = this;
    this.#proving = this.#prover.prove((isAnswered) =>
      this.#feed(isHeartbeat ? { is: 'beaten', isAnswered, epoch, ...this.#owed } : { is: 'sent', ...this.#owed }),
    );
    this.#proving.catch(ignore);
  }

  /** Repeated on the next connection if this one ends before the answer. */
  #askToClose(): void {
    this.#connection.stopAttaching();
    this.request(closeSession()).then(
      () => this.#feed({ is: 'end', why: 'closed' }),
      (error: unknown) => {
        if (error instanceof ZooKeeperError && !error.is('CONNECTION_LOSS')) this.#connection.drop(error);
      },
    );
    this.#feed({ is: 'sent', ...this.#owed });
  }

  #end(why: SessionEnd): void {
    const held = this.lockCount;
    loseAll([...this.#holdings], why === 'expired' ? 'session-expired' : 'session-deadline');
    this.#connection.abandon();
    this.#changes.tell();
    this.admission.admitAll();
    this.#owner.ended?.(this, why, held);
    this.#tellSettled();
  }

  #tellSettled(): void {
    if (isSettled(this.#life)) this.#owner.settled?.(this);
  }

  get #owed(): Owed {
    return { owedSince: this.#connection.unansweredSince };
  }

  get #beforeGrant(): ReturnType<typeof beforeGrant> {
    return beforeGrant(this.#life.schedule, this.#life.proof, this.#clock.now());
  }
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

const makesParents: ReadonlySet<string> = new Set(['create', 'createContainer']);

const noTick = { at: Infinity, cancel: ignore };

function newAttaching(): Attaching {
  let end = ignore;
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { ended, end };
}

/** A session id written as in the servers' logs: `0x100000a2b3c0001`. */
export function sessionName(id: bigint): string {
  return `0x${BigInt.asUintN(64, id).toString(16)}`;
}

function ignore(): void {
  // The failure also shows as a change of the session's state.
}
