import { inNoContext } from '../support/no-context.js';
import { attemptMs } from './attempt-time.js';
import type { CancelTimer, Clock } from '../support/clock.js';
import { Connection, type ConnectionListener, type ConnectionOptions, type Reply, type SessionIdentity, type UnansweredAttempt, type WatchEventType } from './connection.js';
import { Listeners } from '../support/listeners.js';
import { check, closeSession, removeWatch, sync, type Operation, type WatchKind } from './operations.js';
import { deadlineOf, learn, unproven } from './session-clock.js';
import { UnansweredRound } from './unanswered-round.js';
import { Watches, type WatchListener } from './watches.js';
import { ZooKeeperError } from './zookeeper-error.js';

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
  /** The deadline has passed, nothing was held, and no server has said yet whether the session lives. */
  #isOverdue = false;
  #heartbeatAt = Infinity;
  #checkedUpTo = 0;
  /** When the newest request that was answered was sent, ConnectRequests included. */
  #answeredSentAt = -Infinity;
  #cancelTick: CancelTimer = () => {};
  /** Counts the connections of this session: what one server said is not what another one says. */
  epoch = 0;
  /** When the last connection was made; monotonic milliseconds. */
  connectedAt = -Infinity;

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

  /** Waits for a path's next event. The caller sends the getData, or getChildren, that plants the watch on the server. */
  watch(path: string, listener: WatchListener, kind: WatchKind = 'data'): void {
    this.#watches[kind].add(path, listener);
  }

  /** `forget` takes the watch from the server too, which keeps it otherwise for as long as the znode lives. */
  unwatch(path: string, listener: WatchListener, options: { forget: boolean }, kind: WatchKind = 'data'): void {
    if (!this.#watches[kind].delete(path, listener) || !options.forget || !this.isConnected) return;
    void inNoContext(() => this.request(removeWatch(path, kind)).catch(ignore));
  }

  hold(holding: Holding): void {
    this.#holdings.add(holding);
    // From now on silence counts sooner.
    if (this.#holdings.size === 1) this.#scheduleTick();
  }

  /** The hold was released, or its loss was noticed by the job it belonged to. */
  settle(holding: Holding): void {
    this.#holdings.delete(holding);
    if (this.#holdings.size === 0 && this.#state.at === 'ended' && mayLiveOn(this.#state.why)) this.#owner.settled(this);
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

  /** How long a proof takes at least, because the leader has to hear of it: asking more often does not bring it earlier. */
  get proofPauseMs(): number {
    return this.timeoutMs / 24;
  }

  /** A quorum write and a sync behind it: what keeps the session alive and says that it is. */
  prove(): Promise<void> {
    return inNoContext(() => this.#heartbeat());
  }

  /**
   * Ends the session on the server, which deletes its znodes; where no server answers within `timeoutMs`, the session is
   * left to expire.
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
    return attemptMs({ sessionTimeoutMs: this.#options.sessionTimeoutMs, unansweredRounds, leftMs: until - this.#clock.now() });
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
    this.#isOverdue = false;
    this.#become({ at: 'connected' });
    this.#owner.connected(this);
    void this.#heartbeat().catch(ignore);
  }

  disconnected(): void {
    this.#proof = learn(this.#proof, { is: 'disconnected' });
    if (this.#state.at !== 'connected') return;
    this.#heartbeatAt = Infinity;
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
      // The request was answered for the session's or the server's sake: only the next ConnectResponse can say what is true.
      if (new ZooKeeperError(error, operation.name, operation.path).isRetryable) this.#connection.drop(new Error(`error ${error} for ${operation.name}`));
      return;
    }
    this.#answeredSentAt = Math.max(this.#answeredSentAt, sentAt);
    const before = this.#proof;
    this.#proof = learn(this.#proof, { is: 'answered', kind: operation.kind, sentAt, answeredAt: this.#clock.now() }, this.#options.tickTimeMs);
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
    this.#heartbeatAt = Infinity;
    const holdings = this.#nextToCheck();
    const paths = holdings.length > 0 ? holdings.map((holding) => holding.path) : ['/'];
    const checked = this.request(check(paths));
    this.#scheduleTick();
    try {
      const { value } = await checked;
      if (value.is === 'refused') loseAll(holdings.filter((_, index) => value.errors[index]?.is('NO_NODE')), 'node-deleted');
    } finally {
      // Also after an error: one that leaves the connection open must not be the last heartbeat.
      if (this.isConnected) this.#heartbeatAt = this.#clock.now() + this.timeoutMs / heartbeatsPerTimeout;
      this.#scheduleTick();
    }
    const synced = this.request(sync('/'));
    this.#scheduleTick();
    await synced;
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
    if (this.#state.at === 'connected') dueAt = Math.min(silentAt, deadline, this.#heartbeatAt);
    if (this.#state.at === 'closing') dueAt = this.#connection.isConnected ? silentAt : Infinity;
    if (dueAt === Infinity) return;
    this.#cancelTick = this.#clock.after(Math.max(0, dueAt - now), () => this.#tick());
  }

  #tick(): void {
    const now = this.#clock.now();
    if (this.isConnected && now >= this.#heartbeatAt) {
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
      this.#connection.drop(new Error(`the server has not answered for ${Math.round(this.#silenceLimitMs())} ms or more`));
    }
    this.#scheduleTick();
  }

  /**
   * From then on the session is presumed to be over, though a new leader may still give it its whole timeout anew. It says nothing of a hold:
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
   * A session that was never proven has no deadline to pass. One that holds nothing has nothing to lose while it is connected: if the
   * server says nothing any more, the connection is given up, and told of, first.
   */
  get #canBeOverdue(): boolean {
    return this.isProven && !this.#isOverdue && (this.#holdings.size > 0 || !this.isConnected);
  }

  #passDeadline(): void {
    if (this.#holdings.size > 0) {
      this.#end('lost');
    } else {
      this.#isOverdue = true;
      this.#changes.tell();
      this.#owner.overdue(this);
    }
  }

  #beginToClose(): void {
    loseAll([...this.#holdings], 'client-closed');
    const wasConnected = this.isConnected;
    this.#cancelTick();
    this.#become({ at: 'closing' });
    if (wasConnected) this.#askToClose();
    else if (this.epoch === 0 && !this.#options.resume) this.abandon();
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
    loseAll([...this.#holdings], why === 'expired' ? 'session-expired' : 'session-deadline');
    this.#connection.abandon();
    this.#changes.tell();
    this.#owner.ended(this, why);
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
  | { readonly at: 'connected' }
  | { readonly at: 'suspended' }
  | { readonly at: 'closing' }
  | { readonly at: 'ended'; readonly why: SessionEnd };

/** How a session ends a hold: at the deadline, on the servers' word, by the loss of its znode, or by `close()`. */
export type SessionLoss = 'session-expired' | 'session-deadline' | 'node-deleted' | 'client-closed';

/** A znode that somebody holds a lock by: its hold ends with the session, or with the znode. */
export interface Holding {
  readonly path: string;
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
  /** Every host was tried since the session was presumed to be over, and none answered. Told again after each further attempt. */
  unanswered(session: Session): void;
  ended(session: Session, why: SessionEnd): void;
  /** Given up while the servers may know it still, and every job that lost its hold with it has let go: nothing needs its znodes any more. */
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
