import type { ConnectionState } from '../client/connection-state.js';
import { LockError } from '../support/lock-error.js';
import {
  timeoutText,
  type KnownAtTimeout,
  type KnownHolder,
  type TimedOut,
  type TimeoutReason,
} from './timeout-text.js';

/**
 * The call did not finish within `timeoutMs`: the lock was not acquired, or not released by force, or the servers did
 * not answer. The znode of an acquire is deleted in the background. The reason in the error is what this process knew
 * at that moment: no server was asked.
 *
 * @example
 * if (error instanceof LockTimeoutError && error.reason === 'no-answer') alarm(error.message, error.cause); // an outage
 */
export class LockTimeoutError extends LockError {
  /** The path of the lock, or of the participant, that the call waited for. */
  readonly path: string;
  /** The timeout of the call, in milliseconds. */
  readonly timeoutMs: number;
  /** See {@link TimeoutReason}; undefined where no reason is known, for example for a lock of your own, or for a lock of
   * a multi-lock for which no time was left. */
  readonly reason: TimeoutReason | undefined;
  /**
   * The number of participants before this waiter, the holder included, when its place was read last. Undefined if its
   * place was never read, because the acquire had no place or needed no list of the queue.
   */
  readonly position: number | undefined;
  /** The holder of the lock, as far as this process knew. */
  readonly holder: KnownHolder | undefined;
  /** The value of `client.state` at that moment. */
  readonly connectionState: ConnectionState | undefined;
  readonly #what: TimedOut;
  readonly #known: KnownAtTimeout;

  static {
    this.prototype.name = 'LockTimeoutError';
  }

  constructor(path: string, timeoutMs: number, what?: TimedOut);
  /** @internal */
  constructor(path: string, timeoutMs: number, what: TimedOut | undefined, known: KnownAtTimeout);
  constructor(path: string, timeoutMs: number, what: TimedOut = 'acquired', known: KnownAtTimeout = {}) {
    super(
      'ERR_LOCK_TIMEOUT',
      timeoutText(path, timeoutMs, what, known),
      known.cause === undefined ? undefined : { cause: known.cause },
    );
    this.path = path;
    this.timeoutMs = timeoutMs;
    this.reason = known.reason;
    this.position = known.position;
    this.holder = known.holder;
    this.connectionState = known.connectionState;
    this.#what = what;
    this.#known = known;
  }

  /**
   * @internal Returns the same error with more details. It is created where the caller waits, so that its stack leads
   * there.
   */
  with(more: KnownAtTimeout, timeoutMs = this.timeoutMs): LockTimeoutError {
    return new LockTimeoutError(this.path, timeoutMs, this.#what, { ...this.#known, ...more });
  }
}

/**
 * The hold is no longer valid, and another client may hold the lock now. Stop the work that the lock protects.
 *
 * @example
 * hold.signal.addEventListener('abort', () => console.error(hold.signal.reason.reason)); // 'session-deadline'
 */
export class LockLostError extends LockError {
  /** See {@link LossReason}. */
  readonly reason: LossReason;
  /** The path of the hold's znode. */
  readonly path: string;

  static {
    this.prototype.name = 'LockLostError';
  }

  constructor(path: string, reason: LossReason, options?: ErrorOptions, why = lossTexts[reason]) {
    super('ERR_LOCK_LOST', `The lock held by ${path} was lost: ${why}`, options);
    this.path = path;
    this.reason = reason;
  }

  /** @internal */
  protected override get docsSection(): string {
    return this.reason;
  }
}

/**
 * The reason why a hold ended before it was released:
 * - `session-deadline`: no server answered in time, so the servers may have granted the lock to another client;
 * - `session-expired`: the servers said that the session has ended;
 * - `node-deleted`: another client deleted the hold's znode;
 * - `forced`: another client called `forceRelease`, and will delete the hold's znode unless it is released in time;
 * - `lease-expired`: its `leaseMs` passed without a renewal;
 * - `client-closed`: this process closed its client.
 */
export type LossReason =
  'session-expired' | 'session-deadline' | 'node-deleted' | 'forced' | 'lease-expired' | 'client-closed';

const lossTexts: Record<LossReason, string> = {
  'session-expired': 'the server expired its session',
  'session-deadline':
    'no server answered its session in time, so the servers may have granted the lock to another client',
  'node-deleted': 'another client deleted its znode',
  forced: 'another client released it by force',
  'lease-expired': 'its lease ended without a renewal',
  'client-closed': 'its client was closed. Let the jobs end before client.close()',
};

/** `release()` was called by a caller that does not hold the lock. The message is Curator's. */
export class NotOwnedError extends LockError {
  static {
    this.prototype.name = 'NotOwnedError';
  }

  constructor(path: string, message = `You do not own the lock: ${path}`) {
    super('ERR_LOCK_NOT_OWNED', message);
  }
}

/**
 * A caller waits, without a timeout and without a signal, for a lock that a live function around it holds as another
 * owner, or for a write lock whose read lock this flow holds: a read lock cannot be upgraded. If that function waits
 * for this caller, the wait would never end, and the library cannot know whether it does. A handler made by
 * `lockContext.bind` never gets this error, because the code that calls a handler does not wait for it.
 */
export class DeadlockError extends LockError {
  static {
    this.prototype.name = 'DeadlockError';
  }

  constructor(path: string, wanted: 'the same' | 'an upgrade' = 'the same') {
    super(
      'ERR_LOCK_DEADLOCK',
      wanted === 'an upgrade'
        ? `The lock ${path} is held for reading in this flow. It cannot be acquired for writing before the read lock is released, so a wait without a timeout would never end. ` +
            'Release the read lock first, or acquire the write lock from the start and the read lock inside it'
        : `The lock ${path} is held by a function around this call, as another owner. If that function waits for this call, a wait without a timeout would never end. ` +
            'Acquire the lock in the lock context that holds it, which re-enters (a nested lockContext.run is another owner), or release that hold first. ' +
            'If that function does not wait for this call, give timeoutMs or a signal, or start the call with lockContext.bind',
    );
  }
}

/** The lock's znode has a child that no lock of this kind created, so the order of the queue is unknown. */
export class ForeignNodeError extends LockError {
  /** The names of the foreign children. */
  readonly foreign: readonly string[];

  static {
    this.prototype.name = 'ForeignNodeError';
  }

  constructor(path: string, foreign: readonly string[]) {
    super(
      'ERR_LOCK_FOREIGN_NODE',
      `The lock ${path} has children that this kind of lock did not create: ${foreign.slice(0, 5).join(', ')}` +
        `${foreign.length > 5 ? ` and ${foreign.length - 5} more` : ''}. They may be another lock, which may be held: ` +
        `a lock's path must not be the parent of another lock, and locks of two kinds must not share a path. Use another path. ` +
        `Another client library shares the lock only if its znodes have names of the same form: docs/migrating.md has the way for kazoo`,
    );
    this.foreign = foreign;
  }
}

/** The lock has used up its 2^31 sequence numbers. */
export class SequenceOverflowError extends LockError {
  static {
    this.prototype.name = 'SequenceOverflowError';
  }

  constructor(path: string, znode: string) {
    super(
      'ERR_LOCK_SEQUENCE_OVERFLOW',
      `The sequence numbers of ${path} are used up (${znode}), so the order of the queue is lost. Delete ${path} while no process uses the lock`,
    );
  }
}

/**
 * The answer to a transaction of a hold was lost, so the servers have done all of it or nothing. The message says how to
 * find out.
 *
 * @example
 * if (error instanceof OutcomeUnknownError) console.log((await read('/config')).version, error.paths);
 */
export class OutcomeUnknownError extends LockError {
  /** The path of the hold's znode. */
  readonly path: string;
  /** The paths that the transaction writes, as the methods got them. */
  readonly paths: readonly string[];

  static {
    this.prototype.name = 'OutcomeUnknownError';
  }

  constructor(path: string, paths: readonly string[], cause: Error) {
    const shown = paths.length > 3 ? `${paths.slice(0, 3).join(', ')} and ${paths.length - 3} more` : paths.join(', ');
    super(
      'ERR_LOCK_OUTCOME_UNKNOWN',
      `The transaction of the hold ${path} may have been done, because no answer says what happened (${cause.message}). All of it was done, or nothing. ` +
        `If the hold is still valid, commit the same operations again: with exact versions, ZooKeeper refuses the second one if the first one was done. ` +
        `If not, wait until the znode of the hold is gone, and read ${shown === '' ? 'what the transaction changes' : shown} after a sync`,
      { cause },
    );
    this.path = path;
    this.paths = paths;
  }
}
