import { tracingChannel } from 'node:diagnostics_channel';
import type { Clock } from '../../support/clock.js';
import { callApplication } from '../../support/no-context.js';
import { TracedOperation, TracingMessage, type TracingStart } from '../../support/traced-operation.js';
import { addressOf, type ConnectString } from '../../zookeeper/wire/connect-string.js';
import type { Session } from '../../zookeeper/session/session.js';
import { sessionName } from '../../zookeeper/wire/wire-session.js';
import type { SessionEnd } from '../../zookeeper/session/session-owner.js';

/**
 * Publishes the sessions of one client, and their outages, on the tracing channel `zookeeper-fair-lock:session`. The
 * subscribers are called in no async context, as these events come from sockets and timers.
 */
export class SessionTracing {
  readonly #clock: Clock;
  readonly #servers: ConnectString;
  /** The session that was connected last. */
  #session: Session | undefined;
  #life: Traced | undefined;
  #outage: Traced | undefined;

  constructor(clock: Clock, servers: ConnectString) {
    this.#clock = clock;
    this.#servers = servers;
  }

  connected(session: Session): void {
    this.#outage = this.#end(this.#outage, 'reconnected');
    if (this.#session === session) return;
    this.#session = session;
    this.#life = this.#begin(session, 'session');
  }

  suspended(session: Session): void {
    this.#outage ??= this.#begin(session, 'outage', session.connection.lastError);
  }

  ended(why: SessionEnd): void {
    this.#outage = this.#end(this.#outage, 'session-ended', why);
    this.#life = this.#end(this.#life, why);
  }

  #begin(session: Session, mode: SessionMessage['mode'], error?: unknown): Traced | undefined {
    if (!channel.hasSubscribers) return undefined;
    const clock = this.#clock;
    const message = new SessionTracingMessage(
      { path: undefined, kind: 'session', mode },
      addressOf(this.#servers),
      session,
      clock,
    );
    if (error !== undefined) message.error = error;
    return { operation: new TracedOperation(channel, message, callApplication), startedAt: clock.now() };
  }

  #end(traced: Traced | undefined, outcome: string, reason?: string): undefined {
    traced?.operation.end({ outcome, durationMs: this.#clock.now() - traced.startedAt, reason });
  }
}

/** A message of the channel `zookeeper-fair-lock:session`: the life of one session, or one outage of it. */
export interface SessionMessage {
  /** Always undefined: a session has no path. */
  readonly path: undefined;
  /** Always `session`. */
  readonly kind: 'session';
  /** `session`: from its first connection to its end. `outage`: from the loss of a connection to the next connection. */
  readonly mode: 'session' | 'outage';
  /** Always undefined. */
  readonly position: undefined;
  /** Always undefined. */
  readonly fencingToken: undefined;
  /**
   * Undefined until the end. Of a `session`: how it ended, as in the background event `session-ended`, or `closed` by
   * `client.close()`. Of an `outage`: `reconnected`, or `session-ended`.
   */
  readonly outcome:
    | 'expired'
    | 'lost'
    | 'replaced'
    | 'given-up'
    | 'auth-failed'
    | 'closed'
    | 'reconnected'
    | 'session-ended'
    | undefined;
  /** The end of the session, for an outage during which the session ended. */
  readonly reason: 'expired' | 'lost' | 'replaced' | 'given-up' | 'auth-failed' | 'closed' | undefined;
  /** Milliseconds from the start to the end; undefined until the end. */
  readonly durationMs: number | undefined;
  /** The error that ended the connection, for an outage. */
  readonly error: unknown;
  /** The session, written as in the servers' logs: `0x100000a2b3c0001`. */
  readonly sessionId: string;
  /** `host:port` of the server that the session is, or was, connected to. */
  readonly server: string;
  /** All servers of the connect string and the chroot: the same text for all clients of one ensemble. */
  readonly ensemble: string;
  /** See {@link ClientHealth.remainingMs}: read from the session's clock whenever the field is read. */
  readonly remainingMs: number;
  /** The form for `JSON.stringify`: errors by their name and message. */
  toJSON(): object;
}

/** Its remaining time is read when it is asked for. */
class SessionTracingMessage extends TracingMessage {
  readonly sessionId: string;
  readonly server: string;
  readonly ensemble: string;
  readonly #session: Session;
  readonly #clock: Clock;

  constructor(start: TracingStart, ensemble: string, session: Session, clock: Clock) {
    super(start);
    this.sessionId = sessionName(session.id);
    this.server = session.connection.server;
    this.ensemble = ensemble;
    this.#session = session;
    this.#clock = clock;
  }

  get remainingMs(): number {
    return Math.max(0, this.#session.endsAt - this.#clock.now());
  }
}

interface Traced {
  readonly operation: TracedOperation<SessionTracingMessage>;
  readonly startedAt: number;
}

const channel = tracingChannel<unknown, SessionTracingMessage>('zookeeper-fair-lock:session');
