/** The stable codes of every error that this library throws or rejects with. */
export type LockErrorCode =
  | 'ERR_LOCK_TIMEOUT'
  | 'ERR_LOCK_LOST'
  | 'ERR_LOCK_NOT_OWNED'
  | 'ERR_LOCK_CLIENT_CLOSED'
  | 'ERR_LOCK_SESSION_EXPIRED'
  | 'ERR_LOCK_CONNECTION_TIMEOUT'
  | 'ERR_LOCK_INVALID_PATH'
  | 'ERR_LOCK_FOREIGN_NODE'
  | 'ERR_LOCK_FOREIGN_DATA'
  | 'ERR_LOCK_LIMIT_MISMATCH'
  | 'ERR_LOCK_DEADLOCK'
  | 'ERR_LOCK_SEQUENCE_OVERFLOW'
  | 'ERR_LOCK_REQUEST_FAILED'
  | 'ERR_LOCK_AUTH_FAILED';

const brand = Symbol.for('zookeeper-fair-lock/error');

/**
 * The parent of every error of this library. `code` is stable, `message` is for the reader of the log,
 * `cause` keeps the ZooKeeper error or the socket error behind it.
 *
 * @example
 * if (error instanceof LockError && error.code === 'ERR_LOCK_TIMEOUT') return retryLater();
 */
export class LockError extends Error {
  /** What happened, for programs. It stays the same when the message is reworded. */
  readonly code: LockErrorCode;

  constructor(code: LockErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    Object.defineProperty(this, brand, { value: true });
  }

  static {
    this.prototype.name = 'LockError';
  }

  /** True for errors of another copy of this package too, told by a brand instead of the prototype chain. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== LockError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === 'object' && value !== null && brand in value;
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

/** `release()` was called by somebody who does not hold the lock; the message is Curator's. */
export class NotOwnedError extends LockError {
  static {
    this.prototype.name = 'NotOwnedError';
  }

  constructor(path: string, message = `You do not own the lock: ${path}`) {
    super('ERR_LOCK_NOT_OWNED', message);
  }
}

/** The client was closed, before the call or during it. */
export class ClientClosedError extends LockError {
  static {
    this.prototype.name = 'ClientClosedError';
  }

  constructor(what: string) {
    super('ERR_LOCK_CLIENT_CLOSED', `The client is closed: ${what}`);
  }
}

/** The cause of a LockLostError: which session it was that ended, on the server's word or at its deadline. */
export class SessionExpiredError extends LockError {
  static {
    this.prototype.name = 'SessionExpiredError';
  }

  constructor(sessionId: string) {
    super('ERR_LOCK_SESSION_EXPIRED', `The ZooKeeper session ${sessionId} has ended, or may have`);
  }
}

/** No server answered within `connectionTimeoutMs`. `cause` is the last socket error, if there was one. */
export class ConnectionTimeoutError extends LockError {
  static {
    this.prototype.name = 'ConnectionTimeoutError';
  }

  constructor(hosts: string, timeoutMs: number, cause: unknown) {
    const last = cause === undefined ? 'none of them answered' : socketErrorText(cause);
    super('ERR_LOCK_CONNECTION_TIMEOUT', `No ZooKeeper server of ${hosts} answered within ${timeoutMs} ms; last: ${last}`, { cause });
  }
}

/** A path that ZooKeeper or this library does not take. */
export class InvalidPathError extends LockError {
  static {
    this.prototype.name = 'InvalidPathError';
  }

  constructor(path: unknown, why: string) {
    super('ERR_LOCK_INVALID_PATH', `Invalid path ${typeof path === 'string' ? JSON.stringify(path.slice(0, 200)) : typeof path}: ${why}`);
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

/**
 * The znode of a weighted lock says what no weighted lock has written there, or what it said was erased while others are there: nobody can say who
 * holds the lock. Nothing was overwritten.
 */
export class ForeignDataError extends LockError {
  static {
    this.prototype.name = 'ForeignDataError';
  }

  constructor(path: string, data: Uint8Array) {
    const found = data.length === 0 ? 'nothing any more' : JSON.stringify(Buffer.from(data).toString().slice(0, 100));
    super(
      'ERR_LOCK_FOREIGN_DATA',
      `The znode of the lock ${path} says who holds it when the lock has weights, but it says ${found}. ` +
        'Use another path, or delete the znode while nobody uses it',
    );
  }
}

/**
 * More leases of a semaphore than `maxLeases` allows have stayed on the servers for as long as two session timeouts: other clients of its path use a larger
 * `maxLeases`.
 */
export class LimitMismatchError extends LockError {
  /** The semaphore's path. */
  readonly path: string;
  /** What this client goes by. */
  readonly maxLeases: number;

  static {
    this.prototype.name = 'LimitMismatchError';
  }

  constructor(path: string, maxLeases: number, stayed: number, stayedMs: number) {
    super(
      'ERR_LOCK_LIMIT_MISMATCH',
      `The semaphore ${path} has { maxLeases: ${maxLeases} } in this client, but ${stayed} znodes have stayed below ${path}/leases, before that of the waiter, for ${stayedMs} ms. ` +
        'Use the same maxLeases in all clients of this path. Where it is the same, somebody left a znode there: delete it, or wait until its session ends',
    );
    this.path = path;
    this.maxLeases = maxLeases;
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

/** The servers refused the credentials. */
export class AuthFailedError extends LockError {
  static {
    this.prototype.name = 'AuthFailedError';
  }

  constructor(hosts: string) {
    super('ERR_LOCK_AUTH_FAILED', `The servers ${hosts} refused the credentials`);
  }
}

/** A name with several addresses fails with an AggregateError, whose own message is empty. */
function socketErrorText(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(socketErrorText).join('; ');
  return error instanceof Error ? error.message : String(error);
}
