import type { Pool, PoolConnection } from 'mysql2/promise';
import type { Fence } from '../fence.js';
import type { Transaction } from '../fenced.js';
import { claim } from './claim.js';
import { JobConnection } from './job.js';
import { executorOf } from '../sql.js';

/** Begins a transaction on a connection of the pool. */
export async function beginMysql(pool: Pool, fence: Fence): Promise<Transaction<PoolConnection>> {
  const connection = await pool.getConnection();
  const job = new JobConnection(connection);
  const release = (isUsable: boolean): void => {
    void job.close(); // after the loss of the hold, nothing else has closed it
    if (isUsable) connection.release();
    else connection.destroy();
  };
  try {
    await connection.query('START TRANSACTION');
  } catch (error) {
    release(false);
    throw error;
  }
  return {
    tx: job.tx,
    claim: () => claim(executorOf(connection), fence, pool),
    async settle() {
      await job.close();
      job.refuseEnded();
    },
    commit: () => connection.query('COMMIT'),
    async rollback() {
      await job.close();
      await connection.query('ROLLBACK');
    },
    isAnswer: (error) =>
      typeof (error as { sqlState?: unknown }).sqlState === 'string' && (error as { fatal?: unknown }).fatal !== true,
    release,
  };
}
