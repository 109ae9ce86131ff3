import { types } from 'node:util';
import type { Fence } from '../fence.js';
import { isPromise, type Job } from '../fenced.js';
import { endedByJob, GuardError } from '../guard-error.js';
import { claim, type SqliteDatabase } from './claim.js';

/** Runs `job` in a transaction, and commits. */
export function transact<T>(db: SqliteDatabase, fence: Fence, job: Job<SqliteDatabase, T>): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    claim(db, fence);
    db.exec('SAVEPOINT of_fenced');
    const result = settled(job(db));
    fence.hold.assertValid();
    release(db);
    db.exec('COMMIT');
    return result;
  } catch (error) {
    rollback(db, error);
    throw error;
  }
}

/** @throws TypeError for a result that would run, or be read, after the transaction */
function settled<T>(result: T | PromiseLike<T>): T {
  if (isPromise(result)) {
    // Nobody else learns of its rejection, which would end the process. A lazy promise, such as a query, is not native.
    if (types.isPromise(result)) result.catch(() => undefined);
    throw new TypeError(isAsync);
  }
  if (typeof result !== 'object' || result === null || !('next' in result)) return result;
  const { next, return: close } = result as Partial<Iterator<unknown>>;
  if (typeof next !== 'function') return result;
  // better-sqlite3 executes nothing, not even a ROLLBACK, while an iterator is open.
  close?.call(result as Iterator<unknown>);
  throw new TypeError('Expected the job to return a value, got an iterator: it would be read after the transaction');
}

/** The savepoint ends with its transaction, so another transaction has none. */
function release(db: SqliteDatabase): void {
  try {
    db.exec('RELEASE of_fenced');
  } catch (error) {
    // better-sqlite3 is busy with an iterator of the job. Other errors of a statement are no TypeErrors.
    if (error instanceof TypeError) throw error;
    throw new GuardError('ERR_LOCK_GUARD_FAILED', endedByJob, { cause: error });
  }
}

function rollback(db: SqliteDatabase, cause: unknown): void {
  try {
    db.exec('ROLLBACK');
  } catch {
    // SQLite may have ended the transaction itself, after a full disk for example.
    if ((db as { inTransaction?: boolean }).inTransaction !== true) return;
    throw new GuardError('ERR_LOCK_GUARD_FAILED', stillOpen, { cause });
  }
}

const stillOpen =
  'The transaction is still open, because better-sqlite3 executes nothing while an iterator is open. End the iterator, and execute ROLLBACK. Let the job read each of its iterators to the end';
export const isAsync =
  'Expected the job to be synchronous, because other code that uses the database object during an await would be part of the transaction';
