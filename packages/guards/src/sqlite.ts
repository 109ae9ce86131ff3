/** @module @zookeeper-fair-lock/guards/sqlite */

import { fenceOf, type FencedHold, type FencedOptions, type GuardOptions } from './fence.js';
import { runFenced, type Store } from './fenced.js';
import { noTransaction } from './sql.js';
import { claim, createTableSql, type SqliteDatabase } from './sqlite/claim.js';
import { isAsync, transact } from './sqlite/transaction.js';

export * from './exports.js';
export { createTableSql, type SqliteDatabase };

/**
 * Runs `job` in a transaction that is committed only while no later holder of the lock has written. The job is
 * synchronous: during an `await`, other code that uses the same database object would be part of the transaction.
 */
export async function fenced<Db extends SqliteDatabase, T>(
  db: Db,
  hold: FencedHold,
  job: (tx: Db) => T,
  options?: FencedOptions,
): Promise<T> {
  // Such a job would go on after the rollback, outside of every transaction.
  if (Object.prototype.toString.call(job) === '[object AsyncFunction]') throw new TypeError(isAsync);
  return runFenced(sqlite as unknown as Store<Db, Db>, db, hold, job, options);
}

/** Claims the guard's row in a transaction of your own. Call it first, and `hold.assertValid()` right before the commit. */
export function guard(db: SqliteDatabase, hold: FencedHold, options?: GuardOptions): void {
  sqlite.check(db);
  // better-sqlite3 has the one, and node:sqlite the other.
  const { inTransaction, isTransaction = inTransaction } = db as { inTransaction?: boolean; isTransaction?: boolean };
  if (isTransaction === false) throw new TypeError(noTransaction);
  claim(db, fenceOf(hold, options));
}

const sqlite: Store<SqliteDatabase, SqliteDatabase> = {
  accepts: ['key', 'table', 'retries'],
  isSync: true,
  locksRowsOf: (db) => db,
  check(db: { exec?: unknown; prepare?: unknown; all?: unknown } | undefined) {
    if (typeof db?.exec !== 'function' || typeof db.prepare !== 'function' || 'all' in db)
      throw new TypeError('Expected a database of `node:sqlite` or of `better-sqlite3`');
  },
  attempt: (db, fence, job) => new Promise((resolve) => resolve(transact(db, fence, job))),
  // SQLITE_BUSY and its extended codes, as better-sqlite3 and as node:sqlite say them.
  isRetryable: (error) => {
    const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
    return String(code).startsWith('SQLITE_BUSY') || (typeof errcode === 'number' && (errcode & 0xff) === 5);
  },
};
