import { inNoContext } from '../../support/no-context.js';
import { Admission } from './admission.js';
import type { Clock } from '../../support/clock.js';
import type { ConnectionFacts } from '../connection/connection.js';
import { Companions } from '../../support/companions.js';
import { waitBefore, type Deadline } from '../../support/deadline.js';
import type { Holding } from './holding.js';
import { endsAt, isOver, isProven, overdueAt, type SessionState, stalledMs } from './life.js';
import { sync, type Operation } from '../wire/operations.js';
import { divisors } from '../network/timeout-parts.js';
import { beforeGrant } from './proof-schedule.js';
import type { Checked } from './prover.js';
import type { Reply } from '../wire/replies.js';
import { deadlineOf } from './session-clock.js';
import type { SessionOwner } from './session-owner.js';
import { SessionShell, type SessionOptions } from './session-shell.js';
import { SessionWatches } from './watches.js';
import { untilAnswered, type Question } from './until-answered.js';
import { whenNoNode } from '../wire/zookeeper-error.js';
import { reached } from '../../support/reached.js';

/** One ZooKeeper session, as its users see it. Its shell has the connection, and carries out the orders of its life. */
export class Session {
  readonly #options: SessionOptions;
  readonly #clock: Clock;
  readonly #shell: SessionShell<Session>;
  #isToEnd = false;
  readonly #holdings = new Set<Holding>();
  readonly watches = new SessionWatches(this);
  /** The acquires that wait to begin. */
  readonly admission: Admission;
  /** The objects that locks keep for this session. */
  readonly companions = new Companions<Session>(this);
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
  /** The bytes of the paths of its locks' znodes, as the transaction that ends the session has them. */
  pathBytes = 0;

  constructor(options: SessionOptions, owner: SessionOwner<Session>) {
    this.#options = options;
    this.#clock = options.clock;
    this.#shell = new SessionShell<Session>(this, options, owner);
    const { connection } = this.#shell;
    this.admission = new Admission(() => connection.room, this.#clock);
    connection.connect();
  }

  /** The facts of its connections: the servers, their answers and their errors. */
  get connection(): ConnectionFacts {
    return this.#shell.connection;
  }

  get state(): SessionState {
    return this.#shell.life.state;
  }

  get isConnected(): boolean {
    return this.#shell.life.state.at === 'connected';
  }

  get isEnded(): boolean {
    return isOver(this.#shell.life);
  }

  /** The number of connections that this session has had. An answer on one connection says nothing about another. */
  get epoch(): number {
    return this.#shell.life.epoch;
  }

  get id(): bigint {
    return this.#shell.connection.sessionId;
  }

  /** The negotiated session timeout, in milliseconds. */
  get timeoutMs(): number {
    return this.#shell.life.proof.timeoutMs;
  }

  /** A hold of this session is valid only before this time; monotonic milliseconds. */
  get deadline(): number {
    return deadlineOf(this.#shell.life.proof);
  }

  /**
   * The time at which the session is over for this process if no server answers any more; monotonic milliseconds. For a
   * session with holds that is their deadline.
   */
  get endsAt(): number {
    return this.isEnded ? -Infinity : endsAt(this.#shell.life);
  }

  /** True if a quorum write of the session was ever answered. Before that, the session has no deadline. */
  get isProven(): boolean {
    return isProven(this.#shell.life);
  }

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
    return stalledMs(this.#shell.life, this.#clock.now());
  }

  /**
   * Rejects with a ZooKeeperError: the server's, or CONNECTION_LOSS if there is no connection or it ends before the
   * answer.
   */
  request<T>(operation: Operation<T>): Promise<Reply<T>> {
    return this.#shell.connection.send(operation);
  }

  /** Calls `listener` at every change of `state`, and when the deadline passes. */
  onChange(listener: () => void): () => void {
    return this.#shell.changes.add(listener);
  }

  /** Compares the deadline with the clock now, so a timer that never ran cannot make a dead session look alive. */
  isAlive(): boolean {
    const { life } = this.#shell;
    if (isOver(life)) return false;
    const now = this.#clock.now();
    if (now < overdueAt(life)) return now < deadlineOf(life.proof);
    this.#shell.feed({ is: 'looked' });
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

  hold(holding: Holding): void {
    // Only the first hold and the last release change the session's life. A sticky lock has thousands a second.
    const isFirst = this.#holdings.size === 0;
    this.#holdings.add(holding);
    if (isFirst) this.#shell.feed({ is: 'held', ...this.#shell.owed });
  }

  /** The hold was released, or the job that it belonged to has noticed its loss. */
  settle(holding: Holding): void {
    if (this.#holdings.delete(holding) && this.#holdings.size === 0) {
      this.#shell.feed({ is: 'freed' });
      if (this.#isToEnd) this.#endWhenFree();
    }
    this.#shell.tellSettled();
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
    if (this.isStale) {
      reached('a stale session attaches for a waiter');
      void this.attach(znode);
    }
    this.#shell.feed({ is: 'needed', ...this.#shell.owed });
    return () => {
      if (isKept) this.#shell.feed({ is: 'needed-no-more' });
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

  /** False if a hold that began now would be proven again before its deadline. */
  needsProof(): boolean {
    return this.#beforeGrant !== 'nothing';
  }

  /** True if a grant needs that the session attaches anew first, because the session was quiet. */
  get isStale(): boolean {
    return this.isResumed && this.#beforeGrant === 'attach';
  }

  /** False at servers that give each connection a session of its own, so that the end of a connection costs the session. */
  get isResumed(): boolean {
    return !this.#options.traits.forgetsSessions;
  }

  /**
   * The shortest time in which a proof can arrive, in milliseconds, because the leader must learn of it. Asking more
   * often does not bring it earlier.
   */
  get proofPauseMs(): number {
    return this.timeoutMs / divisors.proofPause;
  }

  /**
   * Sends a quorum write, and a sync behind it. They keep the session alive, and prove that it is. A stale session
   * attaches anew first.
   *
   * @param znode a waiter's znode. The write is a transaction that checks whether it exists
   */
  prove(znode?: Checked): Promise<void> {
    if (this.isStale && this.isConnected) return this.attach(znode);
    return this.#shell.prove(znode);
  }

  /**
   * Attaches anew: connects to the same server, with a ConnectRequest for this session. That touches the leader, and
   * writes no transaction. The first quorum write on the new connection is the proof, and is sent at once. Requests
   * that are made meanwhile are sent behind it. Resolves when that write is answered, or the connection is lost.
   *
   * @param znode a waiter's znode, which that write checks too
   */
  attach(znode?: Checked): Promise<void> {
    return this.#shell.attach(znode);
  }

  /**
   * As `attach`, but to another server of the connect string, if there is one. The present connection stays until then.
   * Calls `ended` when the session has attached, or cannot.
   */
  attachElsewhere(ended: () => void): void {
    if (this.isResumed) this.#shell.connection.attachElsewhere(() => void this.attach().then(ended));
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
    this.#shell.feed({ is: 'close' });
    return closed;
  }

  /** Ends the session in this process only, without a message to the server. */
  abandon(): void {
    this.#shell.feed({ is: 'end', why: 'closed' });
  }

  /**
   * Ends the session in this process only. The servers have older data and will never answer it, and a new session
   * replaces it.
   */
  replace(): void {
    this.#shell.feed({ is: 'end', why: 'replaced' });
  }

  /**
   * Ends the session as soon as it holds nothing: it may own a znode that this client cannot find, and that blocks a
   * lock. Its waiters start over in the next session.
   */
  giveUpWhenFree(): void {
    this.#isToEnd = true;
    this.#endWhenFree();
  }

  /** `release` waits for the answer to its delete, which is sent in this turn or was sent before. So the end comes behind it. */
  #endWhenFree(): void {
    const end = (): void => {
      const isFree = this.#holdings.size === 0;
      if (isFree && !this.isEnded) this.#shell.feed({ is: 'end', why: 'given-up' });
    };
    // An answer, a lost one and the end of the session all lead on.
    inNoContext(() => this.#clock.after(0, () => void this.request(sync('/')).catch(ignore).then(end)));
  }

  /** Gives the session to another owner. */
  adopt(owner: SessionOwner<Session>): void {
    this.#shell.owner = owner;
  }

  get #beforeGrant(): ReturnType<typeof beforeGrant> {
    const { life } = this.#shell;
    return beforeGrant(life, life.proof, this.#clock.now());
  }
}

function ignore(): void {
  // The failure also shows as a change of the session's state.
}
