import type { Clock } from '../../support/clock.js';
import { errorText } from '../../support/error-text.js';
import { Events } from '../../support/events.js';
import { withJson } from '../../support/shown.js';
import type { ConnectString } from '../../zookeeper/wire/connect-string.js';
import type { SessionEnd } from '../../zookeeper/session/session-owner.js';
import type { Session } from '../../zookeeper/session/session.js';
import { sessionName } from '../../zookeeper/wire/wire-session.js';
import type { BackgroundEvent } from './background-event.js';
import { authFailed } from './client-errors.js';
import type { CheckedClientOptions } from '../options/client-options.js';
import { nextState, type ConnectionChange, type ConnectionState } from './connection-state.js';
import type { LockEvent } from './lock-event.js';
import { OutageLog, type Silence } from './outage-log.js';
import type { ServerList } from '../options/server-list.js';
import { SessionTracing } from './session-tracing.js';

/** Tells the application what happens to a client: by the client's events, its log, and its tracing channel. */
export class ClientReport {
  readonly events = new Events<LockClientEvents>('state', 'background', 'lock');
  readonly #servers: ReportedServers;
  readonly #options: CheckedClientOptions;
  readonly #outages: OutageLog;
  readonly #tracing: SessionTracing;
  #state: ConnectionState | undefined;

  constructor(servers: ReportedServers, options: CheckedClientOptions, clock: Clock) {
    this.#servers = servers;
    this.#options = options;
    this.#outages = new OutageLog(options.log, clock, options.sessionTimeoutMs, servers);
    this.#tracing = new SessionTracing(clock, servers);
  }

  /** The state of the connection that was told last. */
  get state(): ConnectionState {
    return this.#state ?? 'suspended';
  }

  get wasConnected(): boolean {
    return this.#state !== undefined;
  }

  /** True if the servers have refused the credentials in this outage. */
  get isRefused(): boolean {
    return this.#outages.isRefused;
  }

  /** The time without an answer from the servers, and the reason. Undefined while no answer is owed. */
  silence(session: Session): Silence | undefined {
    return this.#outages.silence(session);
  }

  connected(session: Session): void {
    this.background({ type: 'connected', sessionId: sessionName(session.id), server: session.connection.server });
    this.#tracing.connected(session);
    this.#change('up');
  }

  answered(session: Session): void {
    this.#outages.answered(session);
  }

  suspended(session: Session): void {
    this.background({ type: 'disconnected', sessionId: sessionName(session.id), error: session.connection.lastError });
    this.#outages.suspended(session);
    this.#tracing.suspended(session);
    this.#change('down');
  }

  overdue(session: Session): void {
    this.#outages.overdue(session);
    this.#change('lost');
  }

  /** A session has ended, whether the client closed it or lost it. */
  ended(why: SessionEnd): void {
    this.#tracing.ended(why);
  }

  /**
   * A session has ended that the client did not close.
   *
   * @param lost the number of the application's locks that were lost with it
   */
  lost(session: Session, why: Exclude<SessionEnd, 'closed'>, lost: number): void {
    this.background({ type: 'session-ended', sessionId: sessionName(session.id), why });
    const { message } = authFailed(this.#servers, this.#options, session.connection.history);
    if (why === 'auth-failed' && !this.isRefused) this.background({ type: 'warning', message, error: undefined });
    this.#outages.ended(session, why, lost, message);
    this.#change('lost');
  }

  /** A session that was given up has ended on the servers too. */
  ghostClosed({ id }: Session): void {
    this.background({ type: 'lost-session-closed', sessionId: sessionName(id) });
    this.#outages.closed(sessionName(id));
  }

  closed(): void {
    this.#change('closed');
  }

  /** Emits a `background` event, with its path as the servers know it. */
  background(event: BackgroundEvent): void {
    const onServers = 'path' in event ? { ...event, path: this.onServers(event.path) } : event;
    this.#outages.repaired(onServers);
    this.events.tell('background', withJson({ ...onServers }));
  }

  /** Reports an error that no call can report. */
  warn(message: string, error: unknown): void {
    this.background({ type: 'warning', message, error });
    if (error === undefined) this.#options.log.warn(message);
    else this.#options.log.warn(`${message}: ${errorText(error)}`, { err: error });
  }

  /** Logs that the list of the servers has changed. */
  moved(message: string): void {
    this.#options.log.info(message);
  }

  /** True if `lock` has a listener. Otherwise the events are not created. */
  get hearsLocks(): boolean {
    return this.events.isHeard('lock');
  }

  lock(event: LockEvent): void {
    this.events.tell('lock', event);
  }

  /** The path with the chroot, as the servers know it, for logs. */
  onServers(path: string): string {
    return `${this.#servers.chroot}${path}`;
  }

  #change(change: ConnectionChange): void {
    const state = nextState(this.#state, change);
    if (state === this.#state || state === undefined) return;
    this.#state = state;
    this.events.tell('state', state);
  }
}

/**
 * The events of a {@link LockClient}, and the values that they pass.
 *
 * @example
 * const isUp = (state: ConnectionState) => state === 'connected' || state === 'reconnected';
 * client.on('state', (state) => metrics.gauge('zookeeper_up', isUp(state) ? 1 : 0));
 * client.on('background', (event) => log.debug(event));
 * client.on('lock', (event) => event.type === 'acquired' && metrics.observe('lock_wait_ms', event.waitedMs));
 */
export interface LockClientEvents {
  /** The new `state`. The first change, to `connected`, has happened when `connect` resolves. */
  state: ConnectionState;
  /** An action that the client took by itself. */
  background: BackgroundEvent;
  /** An event of one of the client's locks. It is created only if there is a listener. */
  lock: LockEvent;
}

type ReportedServers = ConnectString & Pick<ServerList, 'trouble'>;
