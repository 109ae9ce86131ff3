/** @module @zookeeper-fair-lock/guards/mysql */

import type { Pool, PoolConnection } from 'mysql2/promise';
import { fenceOf, type FencedHold, type FencedOptions, type GuardOptions } from './fence.js';
import { attemptOnce, runFenced, type Job, type Store } from './fenced.js';
import { claim, createTableSql, mysqlExecutorOf, noTable } from './mysql/claim.js';
import { beginMysql } from './mysql/transaction.js';
import { codeOf, noTransaction, tableError, type Connection, type Execute } from './sql.js';

export * from './exports.js';
export { createTableSql };

/** Runs `job` in a transaction that is committed only while no later holder of the lock has written. */
export async function fenced<T>(
  pool: Pool,
  hold: FencedHold,
  job: Job<PoolConnection, T>,
  options?: FencedOptions,
): Promise<T> {
  return runFenced(mysql, pool, hold, job, options);
}

/** Claims the guard's row in a transaction of your own. Call it first, and `hold.assertValid()` right before the commit. */
export async function guard(tx: Connection | Execute, hold: FencedHold, options?: GuardOptions): Promise<void> {
  const fence = fenceOf(hold, options);
  const status = await claim(mysqlExecutorOf(tx), fence, tx).catch((error: unknown) => {
    throw codeOf(error) === noTable ? tableError(fence, createTableSql(fence.table), error) : error;
  });
  if (typeof status === 'number' && !(status & inTransaction)) throw new TypeError(noTransaction);
}

/** SERVER_STATUS_IN_TRANS of the protocol. */
const inTransaction = 1;

const mysql: Store<Pool, PoolConnection> = {
  accepts: ['key', 'table', 'retries'],
  // Each call of `promise()` of a pool makes another object.
  locksRowsOf: ({ pool }) => pool,
  check(pool: { getConnection?: unknown; pool?: unknown } | undefined) {
    if (typeof pool?.getConnection !== 'function' || typeof pool.pool !== 'object')
      throw new TypeError(
        'Expected a pool of `mysql2/promise` (of a pool of `mysql2`, pass pool.promise()). For a connection of your own, call guard(connection, hold) in its transaction',
      );
  },
  attempt: (pool, fence, job) => attemptOnce(() => beginMysql(pool, fence), fence, job),
  isRetryable: (error) => /^ER_(LOCK_WAIT_TIMEOUT|LOCK_DEADLOCK|CHECKREAD)$/.test(codeOf(error)),
  createTable: (pool, { table }, error) => (codeOf(error) === noTable ? pool.query(createTableSql(table)) : undefined),
};
