import type { CancelTimer } from '../support/clock.js';
import type { Deadline } from '../support/deadline.js';
import { Listeners } from '../support/listeners.js';
import { inNoContext } from '../support/no-context.js';
import { roundDelayMs } from '../zookeeper/connection/host-history.js';
import { livesOn } from '../zookeeper/session/life.js';
import { SaslRefusal } from '../zookeeper/wire/sasl-handshake.js';
import type { SessionEnd, SessionOwner } from '../zookeeper/session/session-owner.js';
import type { Session } from '../zookeeper/session/session.js';
import { untilAnswered, type Question } from '../zookeeper/session/until-answered.js';
import type { ClientReport } from './report/client-report.js';
import { saslRefusal } from './report/client-errors.js';
import { Ghost, type ServerHealth } from './ghost.js';
import type { SessionSource } from './session-source.js';
import { Successor } from './successor.js';
import { reached } from '../support/reached.js';

/**
 * Keeps one session after another. It opens a new session when the servers have expired the old one, and closes the
 * sessions that it has given up.
 */
export class SessionKeeper {
  readonly #source: SessionSource;
  readonly #report: ClientReport;
  readonly #changes = new Listeners<void>();
  /** The sessions that were given up, and whose lost holds are not all released. */
  readonly #lost = new Set<Session>();
  readonly #ghosts = new Set<Ghost>();
  readonly #successor: Successor;
  readonly #owner: SessionOwner<Session>;
  #current: Session;
  #unproven = 0;
  /** A server has answered a request. */
  #wasServed = false;
  #hopeless: () => Error | undefined = () => undefined;
  #cancelNext: CancelTimer = () => undefined;
  #phase: 'open' | 'closing' | 'closed' = 'open';

  constructor(source: SessionSource, report: ClientReport) {
    this.#source = source;
    this.#report = report;
    this.#successor = new Successor(source, (old, by) => this.#replace(old, by));
    this.#owner = this.#asOwner();
    this.#current = this.#open();
  }

  /** The session that new znodes belong to. */
  get current(): Session {
    return this.#current;
  }

  /** The negotiated session timeout, in milliseconds. */
  get timeoutMs(): number {
    const { timeoutMs } = this.#current;
    return Number.isFinite(timeoutMs) ? timeoutMs : this.#source.options.sessionTimeoutMs;
  }

  get isClosing(): boolean {
    return this.#phase !== 'open';
  }

  /** Calls `listener` when the session changes its state or is replaced, and when the client begins to close. */
  onChange(listener: () => void): () => void {
    return this.#changes.add(listener);
  }

  /** Resolves with the session as soon as it is connected: the present session or a later one. */
  async whenConnected(deadline: Deadline): Promise<Session> {
    deadline.check();
    if (this.#current.isConnected) return this.#current;
    return deadline.wait((wake, fail) => {
      const look = (): void => {
        const error = this.#wasServed ? undefined : this.#hopeless();
        if (this.#current.isConnected) wake(this.#current);
        else if (error) fail(error);
      };
      look();
      return this.onChange(look);
    });
  }

  /**
   * Asks a question that may be repeated. If the answer is lost, asks again on the next connection, of this session or
   * the next.
   *
   * @throws ZooKeeperError if a server refuses the request
   */
  ask<T>(question: Question<T, Session>, deadline: Deadline): Promise<T> {
    return deadline.limit(
      () => untilAnswered<T, Session>(question, undefined, () => this.whenConnected(deadline)),
      () => {},
    );
  }

  /**
   * While no server has answered a request, a call that waits for a session fails with this error, if there is one. The
   * client goes on all the same.
   */
  failWith(hopeless: () => Error | undefined): void {
    this.#hopeless = hopeless;
  }

  /** From now on, no session follows another. */
  stop(): void {
    this.#phase = 'closing';
    this.#cancelNext();
  }

  /** Closes all sessions, after `stop`. Those that no server answers within `timeoutMs` are left to expire. */
  async close(timeoutMs: number): Promise<void> {
    this.#changes.tell();
    for (const lost of this.#lost) this.#closeGhost(lost);
    if (this.#current.connection.history.areAllSilent) this.#closeUnanswered(this.#current);
    await Promise.all([this.#current, this.#successor, ...this.#ghosts].map((each) => each.close(timeoutMs)));
    this.#phase = 'closed';
  }

  #open(): Session {
    const { clock, options } = this.#source;
    const session = this.#source.open(this.#owner, { connectBy: clock.now() + options.connectionTimeoutMs });
    this.#follow(session);
    return session;
  }

  #follow(session: Session): void {
    session.onChange(() => {
      if (this.#current === session) this.#changed();
    });
  }

  #changed(): void {
    this.#changes.tell();
    for (const ghost of this.#ghosts) ghost.look();
  }

  #asOwner(): SessionOwner<Session> {
    const report = this.#report;
    return {
      connected: (session) => this.#connected(session),
      answered: (session) => {
        this.#wasServed = true;
        report.answered(session);
      },
      suspended: (session) => report.suspended(session),
      overdue: (session) => report.overdue(session),
      unanswered: (session) => {
        if (session.epoch === 0) this.#changes.tell();
        if (!this.isClosing && session.connection.history.isRefused && session.epoch > 0)
          this.#successor.refused(session);
      },
      ended: (session, why, lost) => this.#ended(session, why, lost),
      settled: (session) => this.#closeGhost(session),
      warn: (message, error) => {
        // The end of the first session that all servers refused says why, once for the whole outage.
        if (!(error instanceof SaslRefusal && report.isRefused)) report.warn(message, error);
      },
    };
  }

  #connected(session: Session): void {
    this.#successor.answered();
    this.#report.connected(session);
  }

  #ended(session: Session, why: SessionEnd, lost: number): void {
    if (livesOn.has(why) && this.isClosing) reached('a session lost while its client closes');
    if (livesOn.has(why)) this.#lost.add(session);
    this.#report.ended(why);
    if (this.isClosing || why === 'closed' || this.#isFinal(why)) return;
    this.#successor.answered();
    // Before the report, because a listener may close the client.
    if (why !== 'replaced') this.#openAfterPause(session, why);
    this.#report.lost(session, why, lost);
  }

  /** The pause protects a server that ends every session at once from a stream of new sessions. */
  #openAfterPause(before: Session, why: SessionEnd): void {
    this.#unproven = before.isProven ? 0 : this.#unproven + 1;
    const isRefused = why === 'auth-failed' && saslRefusal(before.connection.history) !== undefined;
    const { clock, chance } = this.#source;
    const delayMs = (isRefused ? refusedDelayMs : roundDelayMs)(this.#unproven, chance.random());
    this.#cancelNext = clock.after(delayMs, () => {
      // Each new session begins a round anew, so none ends one.
      if (why === 'auth-failed') this.#source.servers.ask();
      this.#current = this.#open();
      this.#changes.tell();
    });
  }

  /** `LockClient.connect` rejects, and closes the client. */
  #isFinal(why: SessionEnd): boolean {
    return why === 'auth-failed' && !this.#report.wasConnected && !this.#source.options.isLazy;
  }

  /** The servers have older data: they will never know the old session, and have accepted the new one. */
  #replace(old: Session, by: Session): void {
    by.adopt(this.#owner);
    this.#follow(by);
    old.replace();
    this.#current = by;
    this.#connected(by);
    this.#report.answered(by);
    this.#changed();
  }

  /**
   * No server has answered this session for its timeout. If the servers have older data, they never will. As a ghost,
   * the session is closed on them too.
   */
  #closeUnanswered(session: Session): void {
    session.abandon();
    if (session.epoch === 0 || session.znodes === 0) return;
    reached('a client that no server answers closes with znodes');
    this.#lost.add(session);
    this.#closeGhost(session);
  }

  /**
   * Closes a session that was given up in this process. It lives on at the servers until it expires, and its znodes
   * block the queue.
   */
  #closeGhost(lost: Session): void {
    if (!this.#lost.delete(lost) || this.#phase === 'closed') return;
    const ghost = new Ghost(lost, this.#source, {
      health: () => this.#health(),
      over: (isClosed) => {
        this.#ghosts.delete(ghost);
        if (isClosed && !this.isClosing) this.#report.ghostClosed(lost);
      },
    });
    this.#ghosts.add(ghost);
    // The ghost must not keep the context of the job that released the last lost hold.
    inNoContext(() => ghost.look());
  }

  /** A quiet session sends only pings. So a sync is sent too: its answer comes from the leader. */
  #health(): ServerHealth | undefined {
    if (!this.#current.isConnected) return undefined;
    this.#current.catchUp('/');
    return this.#current.connection;
  }
}

/**
 * The pause after this number of sessions in a row that the servers have refused by SASL, in milliseconds: a second,
 * doubling up to a minute, randomized. Each session costs the servers two transactions.
 */
function refusedDelayMs(refused: number, random: number): number {
  return Math.min(60_000, 1_000 * 2 ** Math.min(refused, 10)) * (0.5 + random / 2);
}
