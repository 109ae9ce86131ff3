import { lockEvent } from '../client/lock-event.js';
import type { Events } from '../support/events.js';
import type { Deadline } from '../support/deadline.js';
import { LockTimeoutError } from '../client/lock-timeout-error.js';
import type { LockLostError } from '../client/lock-lost-error.js';
import type { QueuedListener } from '../internals/znode-queue.js';
import type { ClientReport } from '../client/client-report.js';
import type { HeldLock, Hold, HoldEventName } from './hold.js';
import { isTraced, traceFailure, traceHold, traceHoldEnd, traceQueued } from './lock-tracing.js';

/**
 * The events of each hold of a mutex, re-entrant holds included: `acquired`, then `renewed` any number of times, then
 * one of the other three.
 */
export interface HoldEvents {
  /** Emitted before the acquire resolves. */
  acquired: {
    /** The hold. */
    readonly hold: Hold;
  };
  /**
   * The lease of the hold begins again, by `renew` or by `renewEveryMs`. If several holds share the lease, one of them
   * gets the event.
   */
  renewed: {
    /** The hold. */
    readonly hold: Hold;
    /** The time that the hold has from now on, at most; see {@link Hold.remainingMs}. */
    readonly remainingMs: number;
  };
  /** The lease of the hold ended without a renewal. The hold's signal has aborted; its znode still exists. */
  expired: {
    /** The hold. */
    readonly hold: Hold;
    /** The reason with which its signal aborted. */
    readonly error: LockLostError;
  };
  /** The hold was lost for any other reason. Its signal has aborted. */
  lost: {
    /** The hold. */
    readonly hold: Hold;
    /** The reason with which its signal aborted. */
    readonly error: LockLostError;
  };
  /**
   * The hold was released while it was valid. Emitted when `release` is called; the deletion or the hand-over of the
   * znode begins in the same step.
   */
  released: {
    /** The hold. */
    readonly hold: Hold;
  };
}

/** {@link HoldEvents}, and `queued`. */
export interface LockObjectEvents extends HoldEvents {
  /** An acquire of this object has to wait. Emitted once for each znode with which the acquire waits. */
  queued: {
    /**
     * The place among the waiters: 1 is next. For a mutex it is the number of participants before this one, the holder
     * included.
     */
    readonly position: number;
    /** The znode with which the acquire waits. For a mutex it is later the path of the hold. */
    readonly path: string;
  };
}

/** The names of the events of {@link HoldEvents}. */
export const holdEvents = [
  'acquired',
  'renewed',
  'expired',
  'lost',
  'released',
] as const satisfies readonly HoldEventName[];

/**
 * Emits an event to the listeners of the object that acquired the hold, and to the listeners of its client, if there
 * are any.
 */
export function emitHoldEvent(
  events: Pick<Events<HoldEvents>, 'tell' | 'isHeard'>,
  event: HoldEventName,
  hold: Hold,
): void {
  if (event === 'acquired') traceHold(hold);
  else if (event !== 'renewed') traceHoldEnd(hold, event);
  if (events.isHeard(event)) tell(events, event, hold);
  if (hold.keeper.lock.host.report.hearsLocks) tellClient(hold.keeper.lock, event, hold);
}

function tell(events: Pick<Events<HoldEvents>, 'tell'>, event: HoldEventName, hold: Hold): void {
  const { handle } = hold;
  switch (event) {
    case 'acquired':
    case 'released':
      events.tell(event, { hold: handle });
      break;
    case 'renewed':
      events.tell(event, { hold: handle, remainingMs: hold.remainingMs });
      break;
    case 'expired':
    case 'lost':
      if (hold.loss) events.tell(event, { hold: handle, error: hold.loss });
  }
}

function tellClient({ host: { report }, path, kind }: HeldLock, event: HoldEventName, hold: Hold): void {
  const { path: znode, fencingToken, isReentrant, loss } = hold;
  const common = { path, kind, znode, fencingToken, isReentrant };
  switch (event) {
    case 'acquired':
      report.lock(lockEvent({ type: event, ...common, waitedMs: hold.waitedMs }));
      break;
    case 'released':
      report.lock(lockEvent({ type: event, ...common, heldMs: hold.heldMs }));
      break;
    case 'renewed':
      report.lock(lockEvent({ type: event, ...common, remainingMs: hold.remainingMs }));
      break;
    case 'expired':
    case 'lost':
      if (loss) report.lock(lockEvent({ type: event, ...common, heldMs: hold.heldMs, error: loss }));
  }
}

/** True if somebody wants the events of this client's locks, or traces them. Otherwise nothing is recorded for them. */
export function areEventsWanted(report: ClientReport): boolean {
  return report.hearsLocks || isTraced();
}

/** Emits to the listeners of the client, and to the subscribers of traces, that an acquire failed. */
export function tellFailure(
  { host, path, kind }: HeldLock,
  deadline: Deadline,
  error: unknown,
  signal?: AbortSignal,
): void {
  if (!areEventsWanted(host.report)) return;
  const failure =
    error instanceof LockTimeoutError
      ? ({ type: 'timed-out', error } as const)
      : ({ type: signal?.aborted ? 'aborted' : 'failed', error } as const);
  const waitedMs = host.clock.now() - deadline.startedAt;
  traceFailure(deadline, failure.type, waitedMs, error);
  if (host.report.hearsLocks) host.report.lock(lockEvent({ ...failure, path, kind, waitedMs }));
}

/**
 * Emits `queued` to the listeners of an object and of its client, and notes the position for traces. Returns undefined
 * while nobody wants that.
 */
export function queuedListener(
  { host, path, kind }: HeldLock,
  events: Pick<Events<LockObjectEvents>, 'tell' | 'isHeard'>,
): QueuedListener | undefined {
  const isHeard = events.isHeard('queued');
  if (!isHeard && !areEventsWanted(host.report)) return undefined;
  return {
    wantsPosition: isHeard,
    tell: (position, znode, deadline) => {
      traceQueued(deadline, position);
      if (position !== undefined) events.tell('queued', { position, path: znode });
      if (host.report.hearsLocks) host.report.lock(lockEvent({ type: 'queued', path, kind, znode, position }));
    },
  };
}
