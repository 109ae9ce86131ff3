import type { LockLostError } from '../../client/report/lock-lost-error.js';
import type { Hold } from '../hold.js';

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
] as const satisfies readonly (keyof HoldEvents)[];
