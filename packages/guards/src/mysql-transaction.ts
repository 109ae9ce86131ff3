import type { Pool, PoolConnection } from 'mysql2/promise';
import type { Fence } from './fence.js';
import type { Transaction } from './fenced.js';
import { GuardError } from './guard-error.js';
import { claim } from './mysql-claim.js';
import { codeOf, executorOf } from './sql.js';

/** Begins a transaction on a connection of the pool. */
export async function beginMysql(pool: Pool, fence: Fence): Promise<Transaction<PoolConnection>> {
  const connection = await pool.getConnection();
  const release = (isUsable: boolean): void => (isUsable ? connection.release() : connection.destroy());
  try {
    await connection.query('START TRANSACTION');
  } catch (error) {
    release(false);
    throw error;
  }
  const job = new JobConnection(connection);
  return {
    tx: job.tx,
    claim: () => claim(executorOf(connection), fence, pool),
    async commit() {
      job.refuseEnded();
      await connection.query('COMMIT');
    },
    rollback: () => connection.query('ROLLBACK'),
    isAnswer: (error) =>
      typeof (error as { sqlState?: unknown }).sqlState === 'string' && (error as { fatal?: unknown }).fatal !== true,
    release,
  };
}

/**
 * The job's view of the connection. After an error with which the server has rolled the transaction back, it sends no
 * more statements, because the server would commit each of them at once, and without the guard.
 */
class JobConnection {
  readonly tx: PoolConnection;
  #end: { readonly error: unknown } | undefined;

  constructor(connection: PoolConnection) {
    const sends =
      (send: Send): Send =>
      async (...args) => {
        this.refuseEnded();
        return send(...args).catch((error: unknown) => {
          if (rollsBack.test(codeOf(error))) this.#end ??= { error };
          throw error;
        });
      };
    this.tx = Object.assign(Object.create(connection) as PoolConnection, {
      query: sends((...args) => connection.query(...args)),
      execute: sends((...args) => connection.execute(...args)),
    });
  }

  /** @throws GuardError if the server has rolled the transaction back */
  refuseEnded(): void {
    if (this.#end) throw new GuardError('ERR_LOCK_GUARD_FAILED', rolledBack, { cause: this.#end.error });
  }
}

/** The overloads of both methods take a statement, and perhaps its values. */
type Send = (...args: [string]) => Promise<unknown>;

/** A deadlock and, in MariaDB, a row that another transaction has changed since the first read. */
export const rollsBack = /^ER_(LOCK_DEADLOCK|CHECKREAD)$/;

const rolledBack =
  'The server has rolled the transaction back, because one of its statements had failed. Let the job throw that error';
