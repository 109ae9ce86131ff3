import { jsonOf, showByJson } from '../support/shown.js';

/**
 * What happens to a lock of a client, whichever object it is used by, for logs and metrics; see {@link LockClient.on}.
 * `JSON.stringify` takes it, with bigints as text.
 *
 * Each acquire ends in one of four ways: `acquired`, `timed-out`, `aborted` or `failed`. Each hold that was acquired
 * ends in one of three: `released`, `expired` or `lost`.
 */
export type LockEvent = LockEventBase &
  (
    | {
        /** The acquire has to wait. Told once for each znode that it waits with. */
        readonly type: 'queued';
        /** The znode that it waits with. */
        readonly znode: string;
        /**
         * Its place among the waiters, 1 is next, as far as it is known without a request of its own: a waiter right
         * behind another one of this process does not know it. A listener for
         * `queued` of the lock itself is always told.
         */
        readonly position: number | undefined;
      }
    | (LockEventOfHold & {
        /** The lock is held. Told before the acquire resolves, for a re-entrant acquire, too. */
        readonly type: 'acquired';
        /** How long the acquire has taken, in milliseconds. */
        readonly waitedMs: number;
      })
    | (LockEventOfHold & {
        /** A lease begins anew. */
        readonly type: 'renewed';
        /** As `hold.remainingMs`. */
        readonly remainingMs: number;
      })
    | (LockEventOfHold & {
        /** The hold was released while it was valid. */
        readonly type: 'released';
        /**
         * For how long it was held, in milliseconds; undefined for a hold that was acquired before anybody listened.
         */
        readonly heldMs: number | undefined;
      })
    | (LockEventOfHold & {
        /** `expired`: its lease has passed unrenewed. `lost`: it was lost for any other reason. */
        readonly type: 'expired' | 'lost';
        /**
         * For how long it was held, in milliseconds; undefined for a hold that was acquired before anybody listened.
         */
        readonly heldMs: number | undefined;
        /** The LockLostError that its signal aborts with. */
        readonly error: Error;
      })
    | {
        /**
         * The acquire has come to nothing. `timed-out`: its `timeoutMs` is over, or a try has found the lock taken.
         * `aborted`: its signal has aborted. `failed`: for any other reason. There is no
         * event for a bad option.
         */
        readonly type: 'timed-out' | 'aborted' | 'failed';
        /** How long it has taken, in milliseconds. */
        readonly waitedMs: number;
        /** What it rejects with; undefined for a try, which gets undefined. */
        readonly error: unknown;
      }
  );

/** The lock that a {@link LockEvent} is about. */
export interface LockEventBase {
  /** The lock's path, as it was given. */
  readonly path: string;
  /** What kind of lock it is. */
  readonly kind: LockKind;
  /** The event for `JSON.stringify`: bigints as text, errors by their code and message. */
  toJSON(): object;
}

/** The hold that a {@link LockEvent} is about. */
export interface LockEventOfHold {
  /** The hold's znode, as `hold.path`. */
  readonly znode: string;
  /** As `hold.fencingToken`. */
  readonly fencingToken: bigint;
  /** As `hold.isReentrant`. */
  readonly isReentrant: boolean;
}

/** The kinds of locks. The events of a multi-lock are those of its parts. */
export type LockKind = 'mutex' | 'read' | 'write' | 'semaphore' | 'semaphore-mutex';

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
