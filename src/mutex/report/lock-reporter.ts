import type { ClientReport } from '../../client/report/client-report.js';
import { lockEvent } from '../../client/report/lock-event.js';
import type { LockLostError } from '../../client/report/lock-lost-error.js';
import { LockTimeoutError } from '../../client/report/lock-timeout-error.js';
import { noLog } from '../../client/options/logger.js';
import type { ReleaseOutcome } from '../../internals/grant.js';
import type { QueuedListener } from '../../internals/znode-queue.js';
import type { Deadline } from '../../support/deadline.js';
import type { Events } from '../../support/events.js';
import { askApplication, warnOfListener } from '../../support/no-context.js';
import { CallPlaces } from './call-places.js';
import type { HeldLock, Hold, HoldReport } from '../hold.js';
import type { LockObjectEvents } from './hold-events.js';
import {
  isTraced,
  traceAcquire,
  traceFailure,
  traceHold,
  traceHoldEnd,
  traceQueued,
  traceRelease,
  traceTransaction,
  type LockMode,
} from './lock-tracing.js';

/**
 * Gets each fact about the acquires and the holds of one lock object, once. It tells the fact, in this order, to the
 * places of calls (if the client has `debug`), to the tracing channels, to the listeners of the object, and to the
 * listeners of its client: all of them outside of every lock context, so that none acts as the owner of the lock.
 * Nothing is recorded while there is no listener.
 */
export class LockReporter implements HoldReport, QueuedListener {
  readonly #lock: ReportedLock;
  readonly #events: Events<LockObjectEvents>;
  readonly #places: CallPlaces | undefined;
  #revocation: RevocationListener | undefined;

  constructor(lock: ReportedLock, events: Events<LockObjectEvents>) {
    this.#lock = lock;
    this.#events = events;
    if (lock.host.options.debug) this.#places = lock.host.companions.of(CallPlaces);
  }

  /** True if the acquires and holds have a listener other than those of this object. */
  get isHeard(): boolean {
    return this.#client.hearsLocks || isTraced();
  }

  /** Each request for the lock is passed to `listener` from now on. */
  makeRevocable(listener: RevocationListener): void {
    this.#revocation = listener;
  }

  get isRevocable(): boolean {
    return this.#revocation !== undefined;
  }

  /** An acquire begins. Must be called in the same step as the application's call. */
  begun(deadline: Deadline, mode: LockMode): void {
    this.#places?.begun(deadline);
    traceAcquire(this.#lock, mode, deadline);
  }

  get wantsPosition(): boolean {
    return this.#events.isHeard('queued');
  }

  queued(position: number | undefined, znode: string, deadline: Deadline): void {
    traceQueued(deadline, position);
    if (position !== undefined && this.wantsPosition) this.#events.tell('queued', { position, path: znode });
    const { path, kind } = this.#lock;
    if (this.#client.hearsLocks) this.#client.lock(lockEvent({ type: 'queued', path, kind, znode, position }));
  }

  /** An acquire ends without the lock. */
  failed(deadline: Deadline, error: unknown, signal?: AbortSignal): void {
    if (!this.isHeard) return;
    const failure =
      error instanceof LockTimeoutError
        ? ({ type: 'timed-out', error } as const)
        : ({ type: signal?.aborted ? 'aborted' : 'failed', error } as const);
    const { path, kind } = this.#lock;
    const waitedMs = this.#lock.host.clock.now() - deadline.startedAt;
    traceFailure(deadline, failure.type, waitedMs, error);
    if (this.#client.hearsLocks) this.#client.lock(lockEvent({ ...failure, path, kind, waitedMs }));
  }

  acquired(hold: Hold, deadline: Deadline, since: number): void {
    this.#places?.acquired(hold, deadline);
    const waitedMs = since - deadline.startedAt;
    if (this.isHeard) heldSince.set(hold, since);
    traceHold(hold, deadline, waitedMs);
    if (this.#events.isHeard('acquired')) this.#events.tell('acquired', { hold: this.handleOf(hold) });
    if (this.#client.hearsLocks) this.#client.lock(lockEvent({ type: 'acquired', ...this.#about(hold), waitedMs }));
  }

  renewed(hold: Hold): void {
    if (this.#events.isHeard('renewed'))
      this.#events.tell('renewed', { hold: this.handleOf(hold), remainingMs: hold.remainingMs });
    if (!this.#client.hearsLocks) return;
    this.#client.lock(lockEvent({ type: 'renewed', ...this.#about(hold), remainingMs: hold.remainingMs }));
  }

  askedToRelease(hold: Hold): void {
    const listener = this.#revocation;
    if (!listener) return;
    const told = new Promise((resolve) => resolve(askApplication(listener, this.handleOf(hold))));
    told.catch((error: unknown) => {
      this.#client.warn(`The listener of makeRevocable failed for ${hold.path}`, error);
      // Without a logger, nobody might notice.
      if (this.#lock.host.options.log === noLog)
        warnOfListener(error, `the listener of makeRevocable for ${hold.path}`);
    });
  }

  lost(hold: Hold, type: 'lost' | 'expired', error: LockLostError, endedAt: number): void {
    const heldMs = this.#heldMs(hold, endedAt);
    traceHoldEnd(hold, type, heldMs, error);
    if (this.#events.isHeard(type)) this.#events.tell(type, { hold: this.handleOf(hold), error });
    if (this.#client.hearsLocks) this.#client.lock(lockEvent({ type, ...this.#about(hold), heldMs, error }));
  }

  released(hold: Hold, settled: Promise<ReleaseOutcome>, endedAt: number): void {
    if (!hold.loss) {
      const heldMs = this.#heldMs(hold, endedAt);
      traceHoldEnd(hold, 'released', heldMs);
      if (this.#events.isHeard('released')) this.#events.tell('released', { hold: this.handleOf(hold) });
      if (this.#client.hearsLocks) this.#client.lock(lockEvent({ type: 'released', ...this.#about(hold), heldMs }));
    }
    traceRelease(hold, settled);
  }

  committing<T>(hold: Hold, commit: () => Promise<T>): Promise<T> {
    return traceTransaction(hold, commit);
  }

  handleOf(hold: Hold): Hold {
    return this.#places?.handleOf(hold) ?? hold;
  }

  #about(hold: Hold): LockOfHold {
    const { path, kind } = this.#lock;
    const { path: znode, fencingToken, isReentrant } = hold;
    return { path, kind, znode, fencingToken, isReentrant };
  }

  #heldMs(hold: Hold, endedAt: number): number | undefined {
    const since = heldSince.get(hold);
    return since === undefined ? undefined : endedAt - since;
  }

  get #client(): ClientReport {
    return this.#lock.host.report;
  }
}

/**
 * Called when another client asks for the lock, with the hold that should be released; see {@link
 * InterProcessMutex.makeRevocable}.
 */
export type RevocationListener = (hold: Hold) => unknown;

/** When each hold was acquired, in monotonic milliseconds, if there was a listener then. */
const heldSince = new WeakMap<Hold, number>();

type ReportedLock = Pick<HeldLock, 'host' | 'path' | 'kind'>;

type LockOfHold = Pick<HeldLock, 'path' | 'kind'> & {
  readonly znode: string;
} & Pick<Hold, 'fencingToken' | 'isReentrant'>;
