/** @module @zookeeper-fair-lock/guards/postgres */

import type { Pool, PoolClient } from 'pg';
import { checkCount, fenceOf, type FencedHold, type FencedOptions, type GuardOptions } from './fence.js';
import { attemptOnce, runFenced, type Job, type Store } from './fenced.js';
import { claim, createTableSql, noTable } from './postgres/claim.js';
import { beginPostgres } from './postgres/transaction.js';
import { codeOf, executorOf, noTransaction, tableError, type Connection, type Execute } from './sql.js';

export * from './exports.js';
export { createTableSql };

export interface PostgresOptions extends FencedOptions {
  /**
   * PostgreSQL ends the transaction if nothing is sent for so long, in milliseconds, so that a holder that stops does
   * not block its successor. 0: never.
   *
   * @default 30_000
   */
  readonly idleTimeoutMs?: number | undefined;
}

/** Runs `job` in a transaction that is committed only while no later holder of the lock has written. */
export async function fenced<T>(
  pool: Pool,
  hold: FencedHold,
  job: Job<PoolClient, T>,
  options?: PostgresOptions,
): Promise<T> {
  return runFenced(postgres(options), pool, hold, job, options);
}

/** Claims the guard's row in a transaction of your own. Call it first, and `hold.assertValid()` right before the commit. */
export async function guard(tx: Connection | Execute, hold: FencedHold, options?: GuardOptions): Promise<void> {
  const fence = fenceOf(hold, options);
  await claim(executorOf(tx), fence, null).catch((error: unknown) => {
    throw codeOf(error) === noTable ? tableError(fence, createTableSql(fence.table), error) : error;
  });
  const { getTransactionStatus } = tx as Partial<PoolClient>; // not in each version of `pg`
  if (getTransactionStatus?.call(tx as PoolClient) === 'I') throw new TypeError(noTransaction);
}

function postgres(options: PostgresOptions | undefined): Store<Pool, PoolClient> {
  // JavaScript callers pass null, too: `fenceOf` refuses it.
  const { idleTimeoutMs = 30_000 } = options ?? {};
  // PostgreSQL keeps it in 32 bits.
  checkCount('idleTimeoutMs', idleTimeoutMs, 2 ** 31 - 1);
  return {
    accepts: ['key', 'table', 'retries', 'idleTimeoutMs'],
    locksRowsOf: (pool) => pool,
    check(pool: Partial<Pool> | undefined) {
      if (typeof pool?.connect !== 'function' || typeof pool.totalCount !== 'number')
        throw new TypeError(
          'Expected a Pool of `pg`. For a client of your own, call guard(client, hold) in its transaction',
        );
    },
    attempt: (pool, fence, job) => attemptOnce(() => beginPostgres(pool, fence, String(idleTimeoutMs)), fence, job),
    isRetryable: (error) => /^40(001|P01)$/.test(codeOf(error)),
    createTable: (pool, { table }, error) => {
      if (codeOf(error) !== noTable) return undefined;
      return pool.query(createTableSql(table)).catch((failure: unknown) => {
        // Another process creates the table at the same time.
        if (!/^(23505|42P07|42710)$/.test(codeOf(failure))) throw failure;
      });
    },
  };
}
