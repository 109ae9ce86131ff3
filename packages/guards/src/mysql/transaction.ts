import type { Pool, PoolConnection } from 'mysql2/promise';
import type { Fence } from '../fence.js';
import type { Transaction } from '../fenced.js';
import { claim, mysqlExecutorOf } from './claim.js';
import { JobConnection } from './job.js';

/** Begins a transaction on a connection of the pool. */
export async function beginMysql(pool: Pool, fence: Fence): Promise<Transaction<PoolConnection>> {
  const connection = await pool.getConnection();
  const job = new JobConnection(connection);
  const lose = (error: unknown): void => job.lose(error);
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
    async commit() {
      await connection.query('COMMIT').catch((error: unknown) => {
        // The library has sent nothing, because the pool was ended, for example.
        if (error instanceof Error && error.message.startsWith("Can't add new command")) {
          job.lose(error);
          job.refuseEnded();
        }
        throw error;
      });
    },
    async rollback() {
      await job.close();
      await connection.query('ROLLBACK');
    },
    isAnswer: (error) =>
      typeof (error as { sqlState?: unknown }).sqlState === 'string' && (error as { fatal?: unknown }).fatal !== true,
    release,
  };
}
