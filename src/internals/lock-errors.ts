import { LockError } from '../support/lock-error.js';

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
        `a lock's path must not be the parent of another lock, and locks of two kinds must not share a path. Use another path, in all clients at once. ` +
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

  /** @param bytes the length of the request, if that may be why there is no answer; else 0 */
  constructor(path: string, paths: readonly string[], cause: Error, bytes = 0) {
    const shown = paths.length > 3 ? `${paths.slice(0, 3).join(', ')} and ${paths.length - 3} more` : paths.join(', ');
    super(
      'ERR_LOCK_OUTCOME_UNKNOWN',
      `The transaction of the hold ${path} may have been done, because no answer says what happened (${cause.message}). All of it was done, or nothing. ` +
        `If the hold is still valid, commit the same operations again: with exact versions, ZooKeeper refuses the second one if the first one was done. ` +
        `If not, wait until the znode of the hold is gone, and read ${shown === '' ? 'what the transaction changes' : shown} after a sync` +
        (bytes > 0
          ? `. A server answers nothing, and has done nothing, if the request is longer than its jute.maxbuffer: this one has ${bytes} bytes`
          : ''),
      { cause },
    );
    this.path = path;
    this.paths = paths;
  }
}
