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
    const result = job(db);
    if (isPromise(result)) throw new TypeError(isAsync);
    fence.hold.assertValid();
    release(db);
    db.exec('COMMIT');
    return result;
  } catch (error) {
    rollback(db);
    throw error;
  }
}

/** The savepoint ends with its transaction, so another transaction has none. */
function release(db: SqliteDatabase): void {
  try {
    db.exec('RELEASE of_fenced');
  } catch (error) {
    throw new GuardError('ERR_LOCK_GUARD_FAILED', endedByJob, { cause: error });
  }
}

function rollback(db: SqliteDatabase): void {
  try {
    db.exec('ROLLBACK');
  } catch {
    // SQLite has ended the transaction itself, after a full disk for example.
  }
}

export const isAsync =
  'Expected the job to be synchronous, because other code that uses the database object during an await would be part of the transaction';
