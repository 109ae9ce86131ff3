import { jsonOf, showByJson } from '../../support/shown.js';
import type { LockLostError } from './lock-lost-error.js';
import type { LockTimeoutError } from './lock-timeout-error.js';

/**
 * An event of one of a client's locks, whichever object uses the lock, for logs and metrics; see {@link LockClientEvents}.
 * `JSON.stringify` accepts it, and shows bigints as text.
 *
 * Each acquire ends in one of four ways: `acquired`, `timed-out`, `aborted` or `failed`. Each hold that was acquired
 * ends in one of three ways: `released`, `expired` or `lost`.
 */
export type LockEvent = LockEventBase &
  (
    | {
        /** The acquire has to wait. Emitted once for each znode that the acquire waits with. */
        readonly type: 'queued';
        /** The znode that the acquire waits with. */
        readonly znode: string;
        /**
         * Its place among the waiters (1 is next), if known without an extra request: a waiter right behind another
         * waiter of this process does not know it. A listener for `queued` of the lock itself always gets the position.
         */
        readonly position: number | undefined;
      }
    | (LockEventOfHold & {
        /** The lock is held. Emitted before the acquire resolves, also for a re-entrant acquire. */
        readonly type: 'acquired';
        /** The duration of the acquire, in milliseconds. */
        readonly waitedMs: number;
      })
    | (LockEventOfHold & {
        /** A lease was renewed. */
        readonly type: 'renewed';
        /** See `hold.remainingMs`. */
        readonly remainingMs: number;
      })
    | (LockEventOfHold & {
        /** The hold was released while it was valid. */
        readonly type: 'released';
        /**
         * The duration of the hold, in milliseconds; undefined if the hold was acquired before there was a listener.
         */
        readonly heldMs: number | undefined;
      })
    | (LockEventOfHold & {
        /** `expired`: its lease passed without a renewal. `lost`: it was lost for any other reason. */
        readonly type: 'expired' | 'lost';
        /**
         * The duration of the hold, in milliseconds; undefined if the hold was acquired before there was a listener.
         */
        readonly heldMs: number | undefined;
        /** The error that its signal aborts with. */
        readonly error: LockLostError;
      })
    | {
        /** The `timeoutMs` of the acquire has passed, or a try did not get the lock. */
        readonly type: 'timed-out';
        /** The duration of the acquire, in milliseconds. */
        readonly waitedMs: number;
        /**
         * The error that the acquire rejects with. A `tryAcquire` has it too, although it resolves with undefined: its
         * `reason` tells a lock that is taken from servers that do not answer.
         */
        readonly error: LockTimeoutError;
      }
    | {
        /**
         * The acquire ended without the lock. `aborted`: its signal aborted. `failed`: any other reason, but a timeout. A
         * bad option causes no event.
         */
        readonly type: 'aborted' | 'failed';
        /** The duration of the acquire, in milliseconds. */
        readonly waitedMs: number;
        /** The error that the acquire rejects with, such as the reason of the signal. */
        readonly error: unknown;
      }
  );

/** The lock that a {@link LockEvent} is about. */
export interface LockEventBase {
  /** The lock's path, as the application gave it. */
  readonly path: string;
  /** The kind of the lock. */
  readonly kind: LockKind;
  /** The event for `JSON.stringify`: bigints as text, errors by their code and message. */
  toJSON(): object;
}

/** The hold that a {@link LockEvent} is about. */
export interface LockEventOfHold {
  /** The hold's znode, as `hold.path`. */
  readonly znode: string;
  /** See `hold.fencingToken`. */
  readonly fencingToken: bigint;
  /** See `hold.isReentrant`. */
  readonly isReentrant: boolean;
}

/** The kinds of locks. A multi-lock emits the events of its parts. */
export type LockKind = 'mutex' | 'read' | 'write' | 'semaphore' | 'semaphore-mutex' | 'election';

type WithoutJson<Event> = Event extends unknown ? Omit<Event, 'toJSON'> : never;

/** @internal */
export function lockEvent(fields: WithoutJson<LockEvent>): LockEvent {
  return Object.assign(new ShownLockEvent(), fields);
}

class ShownLockEvent {
  toJSON(): object {
    return jsonOf(this);
  }

  static {
    showByJson(this, 'LockEvent');
  }
}
