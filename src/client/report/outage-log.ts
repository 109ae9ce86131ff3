import type { Clock } from '../../support/clock.js';
import { durationText } from './duration-text.js';
import { errorText } from '../../support/error-text.js';
import { SaslRefusal } from '../../zookeeper/wire/sasl-handshake.js';
import type { ConnectionFacts } from '../../zookeeper/connection/connection.js';
import type { Session } from '../../zookeeper/session/session.js';
import { sessionName } from '../../zookeeper/wire/wire-session.js';
import type { SessionEnd } from '../../zookeeper/session/session-owner.js';
import { failuresText } from './client-errors.js';
import type { BackgroundEvent } from './background-event.js';
import type { ClientLog, LogDetails } from '../options/logger.js';
import type { ServerList } from '../options/server-list.js';

/** Logs each change of a client's connection once. Knows at any moment since when no server has answered, and why. */
export class OutageLog {
  readonly #log: ClientLog;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #askedTimeoutMs: number;
  readonly #servers: Pick<ServerList, 'trouble'>;
  readonly #createdAt: number;
  #grantedTimeoutMs: number;
  #outage: Outage | undefined;

  constructor(log: ClientLog, clock: Pick<Clock, 'now'>, askedTimeoutMs: number, servers: Pick<ServerList, 'trouble'>) {
    this.#log = log;
    this.#servers = servers;
    this.#clock = clock;
    this.#askedTimeoutMs = askedTimeoutMs;
    this.#createdAt = clock.now();
    this.#grantedTimeoutMs = askedTimeoutMs;
  }

  /** Not called when the connection is made, because the server may still refuse the client's account. */
  answered(session: Session): void {
    this.#tellTimeout(session.timeoutMs);
    const outage = this.#outage;
    this.#outage = undefined;
    if (outage === undefined) return;
    const { server } = session.connection;
    const durationMs = this.#clock.now() - outage.beganAt;
    const after = `Connected to ${server} again after ${durationText(durationMs)}`;
    const id = sessionName(session.id);
    this.#log.info(
      id === outage.sessionId
        ? `${after}: session ${id} goes on`
        : `${after}, in the new session ${id} in place of ${outage.sessionId}`,
      { sessionId: id, server, durationMs },
    );
  }

  /**
   * A connection that ended without an answer belongs to the outage before it. Only the first refusal of each server is
   * news.
   */
  suspended(session: Session): void {
    const before = this.#outage;
    this.#begin(session);
    if (before && !isFirstRefusal(session.connection, before)) return;
    const held = session.lockCount;
    const holds =
      held === 0
        ? 'it holds no lock'
        : `it holds ${locks(held)}, for ${durationText(session.deadline - this.#clock.now())} at most unless a server answers`;
    const { lastError, server } = session.connection;
    const { stalledMs } = session;
    const sessionId = sessionName(session.id);
    const stall = stalledMs === undefined ? '' : `. Before that, ${stallText(stalledMs)}`;
    this.#log.warn(
      `Connection to ${server} lost: ${errorText(lastError)}. Session ${sessionId} is suspended; ${holds}${stall}`,
      { ...errorIn(lastError), sessionId, server, held },
    );
  }

  /** The session's deadline has passed, and nothing was held. */
  overdue(session: Session): void {
    const { lastAnswer, cause } = this.#lastAnswer(session);
    const sessionId = sessionName(session.id);
    this.#log.warn(
      `Session ${sessionId} is lost: ${lastAnswer}. It held no lock. Its waiters keep their places if the servers still know the session`,
      { ...errorIn(cause), sessionId, held: 0 },
    );
  }

  /** True if the servers have refused the credentials in this outage. Each later session is refused too. */
  get isRefused(): boolean {
    return this.#outage?.isRefused ?? false;
  }

  /**
   * @param lost the number of the application's locks that were lost with the session
   * @param refusal the text for a session that ended because the servers refused the credentials
   */
  ended(session: Session, why: Exclude<SessionEnd, 'closed'>, lost: number, refusal: string): void {
    if (this.isRefused && why === 'auth-failed' && lost === 0) return;
    const { lastAnswer, cause } = this.#lastAnswer(session);
    this.#begin(session, why === 'auth-failed');
    const id = sessionName(session.id);
    const taken =
      lost === 0
        ? 'It held no lock'
        : `${lost === 1 ? 'The lock that it held is' : `All ${locks(lost)} that it held are`} lost`;
    const text =
      why === 'lost'
        ? `Session ${id} is lost: its deadline has passed, and ${lastAnswer}. ${taken}`
        : `Session ${id} has ended: ${why === 'auth-failed' ? refusal : endTexts[why]}. ${taken}`;
    const details = { ...(why === 'lost' && errorIn(cause)), sessionId: id, held: lost };
    this.#log[lost === 0 ? 'warn' : 'error'](text, details);
  }

  /** A session that was given up has ended on the servers too. */
  closed(sessionId: string): void {
    this.#log.info(`Session ${sessionId}, which was given up, has ended on the servers: its znodes are gone`, {
      sessionId,
    });
  }

  /** The client has repaired something by itself. */
  repaired(event: BackgroundEvent): void {
    if (event.type === 'create-searched') {
      const { path, found } = event;
      const outcome = found ? 'it was created' : 'it was not created';
      this.#log.debug(`The answer to the create of ${path} was lost: ${outcome}`, { path });
    } else if (event.type === 'delete-retried') {
      const { path, error } = event;
      this.#log.debug(`${path} is deleted again, because: ${errorText(error)}`, { ...errorIn(error), path });
    }
  }

  /** The time since the last answer, and the reason. Undefined while no answer is owed. */
  silence(session: Session): Silence | undefined {
    if (session.isConnected) {
      const { postponement, unansweredSince } = session.connection;
      // A heartbeat may be in flight, which says nothing about the requests that were put off before it.
      const since = postponement?.since ?? unansweredSince;
      if (since === undefined) return undefined;
      const trouble = postponement ? `puts requests off (${postponement.error})` : 'does not answer';
      const why = `${session.connection.server} is connected, but ${trouble}`;
      return { forMs: this.#clock.now() - since, why, cause: new Error(why) };
    }
    return this.#outageOf(session);
  }

  #outageOf(session: Session): Silence {
    const { answeredAt, failures, lastError: ofConnection } = this.#newest(session);
    const lastError = this.#servers.trouble ?? ofConnection;
    const why =
      failuresText(failures) ?? (lastError === undefined ? unreached(session.connection) : errorText(lastError));
    return { forMs: this.#clock.now() - answeredAt, why, cause: lastError ?? new Error(why) };
  }

  #begin(session: Session, isRefused = this.isRefused): void {
    const { answeredAt, failures, lastError } = this.#newest(session);
    const sessionId = this.#outage?.sessionId ?? sessionName(session.id);
    const beganAt = this.#outage?.beganAt ?? this.#clock.now() - (session.stalledMs ?? 0);
    this.#outage = { answeredAt, sessionId, beganAt, failures: new Map(failures), lastError, isRefused };
  }

  /** The values of the session, or those of the session before, if the new session has no error yet. */
  #newest({ connection }: Session): Pick<Outage, 'answeredAt' | 'failures' | 'lastError'> {
    const before = this.#outage;
    const { heardAt, connectedAt, lastError, history } = connection;
    const answeredAt = before?.answeredAt ?? Math.max(heardAt, connectedAt, this.#createdAt);
    if (before && lastError === undefined) return { ...before, answeredAt };
    return { answeredAt, failures: history.failures, lastError };
  }

  #lastAnswer(session: Session): { lastAnswer: string; cause: unknown } {
    const { stalledMs } = session;
    // If a server stops answering, its session loses the connection first, so the outage is known here.
    if (this.#outage === undefined && stalledMs === undefined)
      return { lastAnswer: 'the servers answer, but confirm no write', cause: undefined };
    const { forMs, why, cause } = this.#outageOf(session);
    if (stalledMs !== undefined && stalledMs >= forMs / 2)
      return { lastAnswer: stallText(stalledMs), cause: undefined };
    return { lastAnswer: `no server has answered for ${durationText(forMs)}; last: ${why}`, cause };
  }

  #tellTimeout(grantedMs: number): void {
    if (grantedMs === this.#grantedTimeoutMs) return;
    this.#grantedTimeoutMs = grantedMs;
    this.#log.warn(
      `The servers granted a session timeout of ${grantedMs} ms, but ${this.#askedTimeoutMs} ms was requested (sessionTimeoutMs): ` +
        'the servers allow from minSessionTimeout to maxSessionTimeout, by default 2 to 20 times their tickTime',
    );
  }
}

/** A time in which no server has answered. */
export interface Silence {
  readonly forMs: number;
  /** The last errors, as text for a reader. */
  readonly why: string;
  readonly cause: unknown;
}

interface Outage {
  /** The session that lost its connection first. */
  readonly sessionId: string;
  /** The time when the connection was lost; monotonic milliseconds, as `answeredAt`. */
  readonly beganAt: number;
  /** The time of a server's last answer. */
  readonly answeredAt: number;
  readonly failures: ReadonlyMap<string, unknown>;
  readonly lastError: unknown;
  /** The servers have refused the credentials. */
  readonly isRefused: boolean;
}

const endTexts: Readonly<Record<Exclude<SessionEnd, 'closed' | 'lost' | 'auth-failed'>, string>> = {
  'given-up': 'it may own a znode that this client cannot find, and holds nothing',
  expired: 'the servers say that it has expired',
  replaced: 'the servers came back with older data, and do not know the session',
};

function isFirstRefusal({ lastError, server }: ConnectionFacts, { failures, isRefused }: Outage): boolean {
  return lastError instanceof SaslRefusal && !isRefused && !(failures.get(server) instanceof SaslRefusal);
}

function stallText(stalledMs: number): string {
  return `this process read nothing for ${durationText(stalledMs)} (was it stopped, or its event loop blocked?)`;
}

function errorIn(error: unknown): LogDetails {
  return error === undefined ? {} : { err: error };
}

/** @param server empty if none was dialled yet */
function unreached({ server }: { readonly server: string }): string {
  return server === '' ? 'no server has been reached yet' : `${server} has not answered yet`;
}

function locks(count: number): string {
  return count === 1 ? '1 lock' : `${count} locks`;
}
