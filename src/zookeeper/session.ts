import { inNoContext } from '../support/no-context.js';
import { attemptMs } from './attempt-time.js';
import type { CancelTimer, Clock } from '../support/clock.js';
import {
  Connection,
  type ConnectionListener,
  type ConnectionOptions,
  type Reply,
  type SessionIdentity,
  type UnansweredAttempt,
  type WatchEventType,
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
  type WatchKind,
} from './operations.js';
import { deadlineOf, learn, unproven } from './session-clock.js';
import { UnansweredRound } from './unanswered-round.js';
import { untilAnswered, type Question } from './until-answered.js';
import { watchKindOf, watchQuestions, Watches, type Watched, type WatchListener } from './watches.js';
import { whenNoNode, ZooKeeperError } from './zookeeper-error.js';

/** One ZooKeeper session: its clock, its requests in flight, its watches, its end. */
export class Session implements ConnectionListener {
  readonly #options: SessionOptions;
  readonly #clock: Clock;
  readonly #round: UnansweredRound;
  #owner: SessionOwner;
  readonly #connection: Connection;
  readonly #watches: Readonly<Record<WatchKind, Watches>> = { data: new Watches(), children: new Watches() };
  readonly #holdings = new Set<Holding>();
  readonly #changes = new Listeners<void>();
  #state: SessionState = { at: 'connecting' };
  #proof = unproven;
  #checkedUpTo = 0;
  /** When the newest request that was answered was sent, ConnectRequests included. */
  #answeredSentAt = -Infinity;
  #cancelTick: CancelTimer = () => {};
  /** Counts the connections of this session: what one server said is not what another one says. */
  epoch = 0;
  /** How many writes were answered without an error, each of which was a transaction. Parents do not count. */
  writesAnswered = 0;
  /**
   * How many znodes of this session are on the servers, or may be: what stands in the way of others until the session
   * ends there.
   */
  znodes = 0;
  /** When the last connection was made; monotonic milliseconds. */
  connectedAt = -Infinity;
  /** What locks keep for this session. */
  readonly companions = new Companions<Session>(this);

  constructor(options: SessionOptions, owner: SessionOwner) {
    this.#options = options;
    this.#clock = options.clock;
    this.#round = new UnansweredRound(options.hosts.length);
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

  /** What was negotiated, in milliseconds. */
  get timeoutMs(): number {
    return this.#proof.timeoutMs;
  }

  /** Monotonic milliseconds: a hold of this session is valid only before it. */
  get deadline(): number {
    return deadlineOf(this.#proof);
  }

  /** Whether a quorum write of it was ever answered; until then it has no deadline. */
  get isProven(): boolean {
    return this.deadline !== -Infinity;
  }

  /** Where the last connection was made to, or tried. */
  get server(): string {
    return this.#connection.server;
  }

  /** When anything came from the servers the last time; monotonic milliseconds. */
  get heardAt(): number {
    return this.#connection.heardAt;
  }

  get lastError(): unknown {
    return this.#connection.lastError;
  }

  /** Why each server that was tried since the last connection could not be used, by `host:port`. */
  get failures(): ReadonlyMap<string, unknown> {
    return this.#connection.failures;
  }

  /** Since when the connected server owes an answer; undefined while it owes none. Monotonic milliseconds. */
  get unansweredSince(): number | undefined {
    return this.#connection.unansweredSince;
  }

  /** What is held by this session now. */
  get holdings(): ReadonlySet<Holding> {
    return this.#holdings;
  }

  /** Every host was tried since the session was presumed to be over, and none answered. */
  get isUnanswered(): boolean {
    return this.#round.isComplete;
  }

  /** As `isUnanswered`, and one of the hosts took the connection: a server is there, and refuses in silence. */
  get isRefused(): boolean {
    return this.#round.isRefused;
  }

  /** Rejects with a ZooKeeperError: the server's, or CONNECTION_LOSS when there is no connection or it ends first. */
  request<T>(operation: Operation<T>): Promise<Reply<T>> {
    return this.#connection.send(operation);
  }

  /** Called at every change of `state`, and when the deadline passes. */
  onChange(listener: () => void): () => void {
    return this.#changes.add(listener);
  }

  /** Judged now against the clock: a timer that never ran cannot make a dead session look alive. */
  isAlive(): boolean {
    if (this.isEnded) return false;
    const now = this.#clock.now();
    if (this.#isPastDeadline(now)) this.#passDeadline();
    return now < this.deadline;
  }

  /** The answer's value; undefined where the znode is not there. */
  find<T>(operation: Operation<T>): Promise<T | undefined> {
    return this.request(operation).then(({ value }) => value, whenNoNode(undefined));
  }

  /**
   * What a question comes to that may be asked again. Where its answer is lost, it is asked again on the next
   * connection; undefined where the session
   * has ended, or the deadline may not wait for that.
   */
  async ask<T>(question: Question<T, Session>, deadline?: Deadline): Promise<T | undefined> {
    deadline?.check();
    return untilAnswered<T, Session, undefined>(question, this, async () =>
      deadline?.mayWait !== false && (await this.whenConnected(deadline)) ? this : undefined,
    );
  }

  /** Waits for its next connection; false when it has ended instead. */
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
   * Asks what is there, and to be told of the next event of it. Undefined where it is not there, which is not watched,
   * unless it is the `creation` that is
   * waited for. After an answer that was lost, the next connection watches again.
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

  /** `forget` takes the watch from the server too, which keeps it otherwise for as long as the znode lives. */
  unwatch(path: string, what: keyof Watched, listener: WatchListener, options: { forget: boolean }): void {
    const kind = watchKindOf(what);
    if (!this.#watches[kind].delete(path, listener) || !options.forget || !this.isConnected) return;
    void inNoContext(() => this.request(removeWatch(path, kind)).catch(ignore));
  }

  /** Whether somebody waits for the next event of a znode, so that it is there, and as it was. */
  isWatching(path: string): boolean {
    return this.#watches.data.has(path);
  }

  hold(holding: Holding): void {
    this.#holdings.add(holding);
    // From now on silence counts sooner.
    if (this.#holdings.size === 1) this.#scheduleTick();
  }

  /** The hold was released, or its loss was noticed by the job it belonged to. */
  settle(holding: Holding): void {
    this.#holdings.delete(holding);
    if (this.#holdings.size === 0 && this.#state.at === 'ended' && mayLiveOn(this.#state.why))
      this.#owner.settled(this);
  }

  /** Calls `run` when the deadline that is known now has passed; returns what takes it back. */
  afterDeadline(run: () => void): () => void {
    return this.#clock.after(Math.max(0, this.deadline - this.#clock.now()), run);
  }

  /** What is asked behind this in the same tick is answered by a server that has caught up with its leader. */
  catchUp(path: string): void {
    void inNoContext(() => this.request(sync(path)).catch(ignore));
  }

  /** Whether a hold that began now would not be lost as soon as it is granted. */
  get hasTimeToGrant(): boolean {
    return this.deadline - this.#clock.now() >= this.timeoutMs / 4;
  }

  /**
   * How long a proof takes at least, because the leader has to hear of it: asking more often does not bring it earlier.
   */
  get proofPauseMs(): number {
    return this.timeoutMs / 24;
  }

  /** A quorum write and a sync behind it: what keeps the session alive and says that it is. */
  prove(): Promise<void> {
    return inNoContext(() => this.#heartbeat());
  }

  /**
   * Ends the session on the server, which deletes its znodes; where no server answers within `timeoutMs`, the session
   * is
   * left to expire. At once where there is no connection, and no znode.
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

  /** Ends it here, without a word to the server. */
  abandon(): void {
    this.#end('closed');
  }

  /** Ends it here: the servers have older data and will never answer it, and a new session takes its place. */
  replace(): void {
    this.#end('replaced');
  }

  /** Another owner keeps it from now on. */
  adopt(owner: SessionOwner): void {
    this.#owner = owner;
  }

  // ConnectionListener

  attemptMs(unansweredRounds: number): number {
    const until = this.epoch === 0 ? this.#options.connectBy : this.deadline;
    return attemptMs({
      sessionTimeoutMs: this.#options.sessionTimeoutMs,
      unansweredRounds,
      leftMs: until - this.#clock.now(),
    });
  }

  unanswered({ startedAt, wasAccepted }: UnansweredAttempt): void {
    if (startedAt < this.#presumedUntil) return;
    this.#round.add(wasAccepted);
    if (this.#round.isComplete) this.#owner.unanswered(this);
  }

  connected(connectSentAt: number): void {
    this.epoch += 1;
    this.connectedAt = this.#clock.now();
    this.#answeredSentAt = connectSentAt;
    this.#round.reset();
    this.#proof = learn(this.#proof, { is: 'granted', sentAt: connectSentAt, timeoutMs: this.#connection.timeoutMs });
    if (this.#state.at === 'closing') {
      this.#askToClose();
      return;
    }
    this.#become({ at: 'connected', heartbeatAt: Infinity });
    this.#owner.connected(this);
    void this.#heartbeat().catch(ignore);
  }

  disconnected(): void {
    this.#proof = learn(this.#proof, { is: 'disconnected' });
    if (this.#state.at === 'closing') this.#abandonIfEmpty();
    if (this.#state.at !== 'connected') return;
    this.#become({ at: 'suspended' });
    this.#owner.suspended(this);
    this.#scheduleTick();
  }

  expired(): void {
    this.#end(this.#state.at === 'closing' ? 'closed' : 'expired');
  }

  authFailed(): void {
    this.#end('auth-failed');
  }

  answered(operation: Operation<unknown>, sentAt: number, error: number): void {
    if (error !== 0) {
      // The request was answered for the session's or the server's sake: only the next ConnectResponse can say what is
      // true.
      if (new ZooKeeperError(error, operation.name, operation.path).isRetryable)
        this.#connection.drop(new Error(`error ${error} for ${operation.name}`));
      return;
    }
    this.#answeredSentAt = Math.max(this.#answeredSentAt, sentAt);
    if (operation.kind === 'write' && !makesParents.has(operation.name)) this.writesAnswered += 1;
    const before = this.#proof;
    this.#proof = learn(
      this.#proof,
      { is: 'answered', kind: operation.kind, sentAt, answeredAt: this.#clock.now() },
      this.#options.tickTimeMs,
    );
    if (before.provenAt === -Infinity && this.#proof.provenAt !== -Infinity) this.#changes.tell();
  }

  /** The end of a znode is told once, to both kinds of watches. */
  watchFired(path: string, event: WatchEventType): void {
    if (event !== 'children') this.#watches.data.fire(path, event);
    if (event === 'children' || event === 'deleted') this.#watches.children.fire(path, event);
  }

  watchedPaths(kind: WatchKind): string[] {
    return this.#watches[kind].paths();
  }

  warn(message: string, error: unknown): void {
    this.#owner.warn(message, error);
  }

  async #heartbeat(): Promise<void> {
    this.#heartbeatIn(Infinity);
    const holdings = this.#nextToCheck();
    const checked = this.request(holdings.length > 0 ? check(holdings.map((holding) => holding.path)) : checkServers());
    this.#scheduleTick();
    try {
      const { value } = await checked;
      if (value.is === 'refused')
        loseAll(
          holdings.filter((_, index) => value.errors[index]?.is('NO_NODE')),
          'node-deleted',
        );
    } finally {
      // Also after an error: one that leaves the connection open must not be the last heartbeat.
      this.#heartbeatIn(this.timeoutMs / heartbeatsPerTimeout);
      this.#scheduleTick();
    }
    const synced = this.request(absolute(sync('/')));
    this.#scheduleTick();
    await synced;
  }

  #heartbeatIn(delayMs: number): void {
    if (this.#state.at === 'connected') this.#state = { at: 'connected', heartbeatAt: this.#clock.now() + delayMs };
  }

  /** At most a hundred at a time, the next hundred with the next heartbeat. */
  #nextToCheck(): Holding[] {
    const all = [...this.#holdings];
    const from = this.#checkedUpTo < all.length ? this.#checkedUpTo : 0;
    const some = all.slice(from, from + mostChecks);
    this.#checkedUpTo = from + some.length;
    return some;
  }

  #scheduleTick(): void {
    this.#cancelTick();
    if (this.#state.at === 'ended' || this.epoch === 0) return;
    const now = this.#clock.now();
    const silentAt = (this.#connection.unansweredSince ?? now) + this.#silenceLimitMs();
    const deadline = this.#canBeOverdue ? this.deadline : Infinity;
    let dueAt = deadline;
    if (this.#state.at === 'connected') dueAt = Math.min(silentAt, deadline, this.#state.heartbeatAt);
    if (this.#state.at === 'closing') dueAt = this.#connection.isConnected ? silentAt : Infinity;
    if (dueAt === Infinity) return;
    this.#cancelTick = this.#clock.after(Math.max(0, dueAt - now), () => this.#tick());
  }

  #tick(): void {
    const now = this.#clock.now();
    if (this.#state.at === 'connected' && now >= this.#state.heartbeatAt) {
      void this.#heartbeat().catch(ignore);
    } else if (this.#isSilent(now) || this.#isPastDeadline(now)) {
      // After a stall the answers may lie unread in the socket: read first, then judge.
      this.#clock.afterPoll(() => this.#judge());
    } else {
      this.#scheduleTick();
    }
  }

  #judge(): void {
    const now = this.#clock.now();
    if (!this.isEnded && this.#isPastDeadline(now)) this.#passDeadline();
    if (this.#state.at !== 'ended' && this.#isSilent(now)) {
      this.#connection.drop(
        new Error(`the server has not answered for ${Math.round(this.#silenceLimitMs())} ms or more`),
      );
    }
    this.#scheduleTick();
  }

  /**
   * From then on the session is presumed to be over, though a new leader may still give it its whole timeout anew. It
   * says nothing of a hold:
   * see `deadline`.
   */
  get #presumedUntil(): number {
    // Never connected, or attached to only to be closed.
    if (this.epoch === 0 || this.#options.resume) return -Infinity;
    return this.#answeredSentAt + this.timeoutMs;
  }

  #isSilent(now: number): boolean {
    const since = this.#connection.unansweredSince;
    return since !== undefined && now - since >= this.#silenceLimitMs();
  }

  #silenceLimitMs(): number {
    const isUrgent = this.#holdings.size > 0 || this.#state.at === 'closing';
    return isUrgent ? this.timeoutMs / 4 : (this.timeoutMs * 2) / 3;
  }

  #isPastDeadline(now: number): boolean {
    return this.#canBeOverdue && now >= this.deadline;
  }

  /**
   * A session that was never proven has no deadline to pass. One that holds nothing has nothing to lose while it is
   * connected: if the
   * server says nothing any more, the connection is given up, and told of, first.
   */
  get #canBeOverdue(): boolean {
    return this.isProven && this.#state.at !== 'overdue' && (this.#holdings.size > 0 || !this.isConnected);
  }

  #passDeadline(): void {
    if (this.#holdings.size > 0) {
      this.#end('lost');
    } else {
      this.#become({ at: 'overdue' });
      this.#owner.overdue(this);
    }
  }

  #beginToClose(): void {
    loseAll([...this.#holdings], 'client-closed');
    const wasConnected = this.isConnected;
    this.#cancelTick();
    this.#become({ at: 'closing' });
    if (wasConnected) this.#askToClose();
    else this.#abandonIfEmpty();
  }

  /**
   * Without a connection, a session that has no znodes need not be closed: it expires by itself, and is in nobody's
   * way.
   */
  #abandonIfEmpty(): void {
    if (!this.#options.resume && (this.epoch === 0 || this.znodes === 0)) this.abandon();
  }

  /** Asked again on the next connection if this one ends before the answer. */
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
    this.#cancelTick();
    this.#state = { at: 'ended', why };
    const held = this.#holdings.size;
    loseAll([...this.#holdings], why === 'expired' ? 'session-expired' : 'session-deadline');
    this.#connection.abandon();
    this.#changes.tell();
    this.#owner.ended(this, why, held);
    if (mayLiveOn(why) && this.#holdings.size === 0) this.#owner.settled(this);
  }

  #become(state: SessionState): void {
    this.#state = state;
    this.#changes.tell();
  }
}

export type SessionEnd = 'expired' | 'lost' | 'replaced' | 'closed' | 'auth-failed';

export type SessionState =
  | { readonly at: 'connecting' }
  /** `heartbeatAt`: when the next heartbeat is due; Infinity while one is under way. */
  | { readonly at: 'connected'; readonly heartbeatAt: number }
  | { readonly at: 'suspended' }
  /** Suspended until after its deadline, while nothing was held: no server has said yet whether the session lives. */
  | { readonly at: 'overdue' }
  | { readonly at: 'closing' }
  | { readonly at: 'ended'; readonly why: SessionEnd };

/** How a session ends a hold: at the deadline, on the servers' word, by the loss of its znode, or by `close()`. */
export type SessionLoss = 'session-expired' | 'session-deadline' | 'node-deleted' | 'client-closed';

/** A znode that somebody holds a lock by: its hold ends with the session, or with the znode. */
export interface Holding {
  readonly path: string;
  /** When it was granted, by the wall clock of this process. */
  readonly heldSince: number;
  /** From now on it is lost. Tells nobody. */
  markLost(reason: SessionLoss): void;
  /** Tells those who listen that it is lost. */
  tellLost(): void;
}

/** Who keeps one session after another. */
export interface SessionOwner {
  connected(session: Session): void;
  suspended(session: Session): void;
  /** The deadline passed and nothing was held: the session may still be alive on the servers. */
  overdue(session: Session): void;
  /**
   * Every host was tried since the session was presumed to be over, and none answered. Told again after each further
   * attempt.
   */
  unanswered(session: Session): void;
  /** @param lost how many holds were lost with it */
  ended(session: Session, why: SessionEnd, lost: number): void;
  /**
   * Given up while the servers may know it still, and every job that lost its hold with it has let go: nothing needs
   * its znodes any more.
   */
  settled(session: Session): void;
  warn(message: string, error: unknown): void;
}

export interface SessionOptions extends ConnectionOptions {
  /** Until when the first server must have answered; monotonic milliseconds. */
  readonly connectBy: number;
  /** The servers' tick, where it is known. */
  readonly tickTimeMs: number | undefined;
}

const heartbeatsPerTimeout = 6;

const mostChecks = 100;

const makesParents: ReadonlySet<string> = new Set(['create', 'createContainer']);

/** All are lost before anybody is told of the first one: a listener may look at any of them. */
function loseAll(holdings: readonly Holding[], reason: SessionLoss): void {
  for (const holding of holdings) holding.markLost(reason);
  for (const holding of holdings) holding.tellLost();
}

/** A session id as the servers' logs write it: `0x100000a2b3c0001`. */
export function sessionName(id: bigint): string {
  return `0x${BigInt.asUintN(64, id).toString(16)}`;
}

/** Whether the servers may know a session still that ended like this. */
function mayLiveOn(why: SessionEnd): boolean {
  return why === 'lost' || why === 'replaced';
}

function ignore(): void {
  // What failed here shows again as a change of state.
}
