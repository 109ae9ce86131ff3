/** @module @zookeeper-fair-lock/guards/mysql */

import type { Pool, PoolConnection } from 'mysql2/promise';
import { fenceOf, type Fence, type FencedHold, type FencedOptions, type GuardOptions } from './fence.js';
import { attemptOnce, runFenced, type Job, type Store, type Transaction } from './fenced.js';
import { claim, createTableSql, noTable } from './mysql-claim.js';
import { codeOf, executorOf, tableError, type Connection, type Execute } from './sql.js';

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
  await claim(executorOf(tx), fence, tx).catch((error: unknown) => {
    throw codeOf(error) === noTable ? tableError(fence, createTableSql(fence.table), error) : error;
  });
}

const mysql: Store<Pool, PoolConnection> = {
  accepts: ['key', 'table', 'retries'],
  check(pool: { getConnection?: unknown; pool?: unknown } | undefined) {
    if (typeof pool?.getConnection !== 'function' || typeof pool.pool !== 'object')
      throw new TypeError(
        'Expected a pool of `mysql2/promise` (of a pool of `mysql2`, pass pool.promise()). For a connection of your own, call guard(connection, hold) in its transaction',
      );
  },
  attempt: (pool, fence, job) => attemptOnce(() => begin(pool, fence), fence, job),
  isRetryable: (error) => /^ER_LOCK_(DEADLOCK|WAIT_TIMEOUT)$/.test(codeOf(error)),
  createTable: async (pool, { table }, error) => {
    if (codeOf(error) !== noTable) return false;
    await pool.query(createTableSql(table));
    return true;
  },
};

async function begin(pool: Pool, fence: Fence): Promise<Transaction<PoolConnection>> {
  const tx = await pool.getConnection();
  const release = (isUsable: boolean): void => (isUsable ? tx.release() : tx.destroy());
  try {
    await tx.query('START TRANSACTION');
  } catch (error) {
    release(false);
    throw error;
  }
  return {
    tx,
    claim: () => claim(executorOf(tx), fence, pool),
    commit: () => tx.query('COMMIT'),
    rollback: () => tx.query('ROLLBACK'),
    isAnswer: (error) =>
      typeof (error as { sqlState?: unknown }).sqlState === 'string' && (error as { fatal?: unknown }).fatal !== true,
    release,
  };
}
