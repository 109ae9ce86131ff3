import { LockError } from '../support/lock-error.js';

/**
 * The call did not finish within `timeoutMs`: the lock was not acquired, or not released by force, or the servers did not answer the question. The
 * znode of an acquire is deleted in the background.
 */
export class LockTimeoutError extends LockError {
  static {
    this.prototype.name = 'LockTimeoutError';
  }

  constructor(path: string, timeoutMs: number, what: TimedOut = 'acquired') {
    super('ERR_LOCK_TIMEOUT', `${timeoutTexts[what](path)} within ${timeoutMs} ms`);
  }
}

/** What did not happen within `timeoutMs`; what {@link LockTimeoutError} says of it. */
export type TimedOut = 'acquired' | 'released' | 'revoked' | 'participants' | 'holder';

const timeoutTexts: Record<TimedOut, (path: string) => string> = {
  acquired: (path) => `The lock ${path} was not acquired`,
  released: (path) => `The lock ${path} was not released`,
  revoked: (path) => `The participant ${path} was not revoked`,
  participants: (path) => `The participants of ${path} were not read`,
  holder: (path) => `The holder of ${path} was not read`,
};

/**
 * The hold is no longer valid: somebody else may hold the lock by now. Stop what it protects.
 *
 * @example
 * hold.signal.addEventListener('abort', () => console.error(hold.signal.reason.reason)); // 'session-deadline'
 */
export class LockLostError extends LockError {
  /** See {@link LossReason}. */
  readonly reason: LossReason;
  /** The znode that stood for the hold. */
  readonly path: string;

  static {
    this.prototype.name = 'LockLostError';
  }

  constructor(path: string, reason: LossReason, options?: ErrorOptions, why = lossTexts[reason]) {
    super('ERR_LOCK_LOST', `The lock held by ${path} was lost: ${why}`, options);
    this.path = path;
    this.reason = reason;
  }
}

/**
 * Why a hold ended before it was released:
 * - `session-deadline`: the servers were not heard from in time, so they may have given the lock to somebody else;
 * - `session-expired`: the servers said that the session is over;
 * - `node-deleted`: somebody else deleted the hold's znode;
 * - `forced`: somebody else called `forceRelease`, and will delete the hold's znode unless it is released in time;
 * - `lease-expired`: its `leaseMs` passed unrenewed;
 * - `client-closed`: this process closed its client.
 */
export type LossReason = 'session-expired' | 'session-deadline' | 'node-deleted' | 'forced' | 'lease-expired' | 'client-closed';

const lossTexts: Record<LossReason, string> = {
  'session-expired': 'the server expired its session',
  'session-deadline': 'its session was not heard from in time, so the server may have given the lock away',
  'node-deleted': 'its znode was deleted by somebody else',
  forced: 'somebody released it by force',
  'lease-expired': 'its lease passed unrenewed',
  'client-closed': 'its client was closed',
};

/** `release()` was called by somebody who does not hold the lock; the message is Curator's. */
export class NotOwnedError extends LockError {
  static {
    this.prototype.name = 'NotOwnedError';
  }

  constructor(path: string, message = `You do not own the lock: ${path}`) {
    super('ERR_LOCK_NOT_OWNED', message);
  }
}

/**
 * Waiting without a timeout and a signal for a lock that a live function around this one holds as another owner; or for a write lock whose read lock this flow holds: there is no
 * upgrade. If that function waits for this one, the wait would never end, and nobody can know whether it does. A handler that `lockContext.bind` has made never gets it: the code
 * that calls a handler does not wait for it.
 */
export class DeadlockError extends LockError {
  static {
    this.prototype.name = 'DeadlockError';
  }

  constructor(path: string, wanted: 'the same' | 'an upgrade' = 'the same') {
    super(
      'ERR_LOCK_DEADLOCK',
      wanted === 'an upgrade'
        ? `The lock ${path} is held for reading in this flow: it cannot be acquired for writing before that is released, and waiting without a timeout would never end`
        : `The lock ${path} is held by a function around this one, as another owner: if that function waits for this one, waiting without a timeout would never end. ` +
            'Give timeoutMs or a signal; start work that nobody waits for by lockContext.bind'
    );
  }
}

/** A child of the lock's znode that no lock of this kind created: nobody can say who goes first. */
export class ForeignNodeError extends LockError {
  /** The children that are foreign here. */
  readonly foreign: readonly string[];

  static {
    this.prototype.name = 'ForeignNodeError';
  }

  constructor(path: string, foreign: readonly string[]) {
    super(
      'ERR_LOCK_FOREIGN_NODE',
      `The lock ${path} has children that this kind of lock did not create: ${foreign.slice(0, 5).join(', ')}` +
        `${foreign.length > 5 ? ` and ${foreign.length - 5} more` : ''}. ` +
        `Delete them, use another path, or, for a mutex, set foreignNodes: 'wait'`,
    );
    this.foreign = foreign;
  }
}

/** Every znode name of this lock was used up: 2^31 sequence numbers. */
export class SequenceOverflowError extends LockError {
  static {
    this.prototype.name = 'SequenceOverflowError';
  }

  constructor(path: string, znode: string) {
    super(
      'ERR_LOCK_SEQUENCE_OVERFLOW',
      `The sequence numbers of ${path} are used up (${znode}), so the order is lost. Delete ${path} while nobody uses it`,
    );
  }
}

/** ZooKeeper refused a request for a reason that trying again does not mend. `cause` is the ZooKeeperError. */
export class RequestFailedError extends LockError {
  static {
    this.prototype.name = 'RequestFailedError';
  }

  constructor(what: string, cause: Error) {
    super('ERR_LOCK_REQUEST_FAILED', `${what}: ${cause.message}`, { cause });
  }
}
