import type { Pool, PoolConnection } from 'mysql2/promise';
import type { Fence } from '../fence.js';
import type { Transaction } from '../fenced.js';
import { claim, mysqlExecutorOf } from './claim.js';
import { JobConnection } from './job.js';

/** Begins a transaction on a connection of the pool. */
export async function beginMysql(pool: Pool, fence: Fence): Promise<Transaction<PoolConnection>> {
  const connection = await pool.getConnection();
  const job = new JobConnection(connection);
  const lose = (error: Error): void => job.lose(error);
  connection.on('error', lose);
  const release = (isUsable: boolean): void => {
    void job.close(); // after the loss of the hold, nothing else has closed it
    if (!isUsable) return connection.destroy();
    connection.off('error', lose);
    connection.release();
  };
  try {
    await connection.query('START TRANSACTION');
  } catch (error) {
    release(false);
    throw error;
  }
  return {
    tx: job.tx,
    claim: () => claim(mysqlExecutorOf(connection), fence, pool),
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
