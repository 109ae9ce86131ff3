import type { Pool, PoolConnection } from 'mysql2/promise';
import type { Fence } from './fence.js';
import type { Transaction } from './fenced.js';
import { afterTheEnd, GuardError, refuseRelease } from './guard-error.js';
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
      await job.close();
      job.refuseEnded();
      await connection.query('COMMIT');
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

/**
 * The job's view of the connection. After an error with which the server has rolled the transaction back, it sends no
 * more statements, because the server would commit each of them at once, and without the guard. So each statement
 * waits for the answer to the one before: the library waits, too, but would send it whatever the answer is.
 */
class JobConnection {
  readonly tx: PoolConnection;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  #end: { readonly error: unknown } | undefined;

  constructor(connection: PoolConnection) {
    this.tx = Object.assign(Object.create(connection) as PoolConnection, {
      query: this.#sends((...args) => connection.query(...args)),
      execute: this.#sends((...args) => connection.execute(...args)),
      prepare: this.#sends(async (...args) => {
        const statement = await connection.prepare(...args);
        const execute = this.#sends((...values) => statement.execute(...values));
        return Object.assign(Object.create(statement) as typeof statement, { execute });
      }),
      release: refuseRelease,
      end: refuseRelease, // mysql2 releases a connection of a pool at its end, too
    });
  }

  /** Takes no more statements, and waits for those that the job has sent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
  }

  /** @throws GuardError if the server has rolled the transaction back */
  refuseEnded(): void {
    if (this.#end) throw new GuardError('ERR_LOCK_GUARD_FAILED', rolledBack, { cause: this.#end.error });
  }

  /** The overloads take a statement, and perhaps its values. */
  #sends<T>(send: (...args: [string]) => Promise<T>): (...args: [string]) => Promise<T> {
    return async (...args) => {
      if (this.#isClosed) throw new GuardError('ERR_LOCK_GUARD_FAILED', afterTheEnd);
      const sent = this.#last.then(async () => {
        this.refuseEnded();
        return send(...args).catch((error: unknown) => {
          if (rollsBack.test(codeOf(error))) this.#end ??= { error };
          throw error;
        });
      });
      this.#last = sent.catch(() => undefined);
      return sent;
    };
  }
}

/** A deadlock and, in MariaDB, a row that another transaction has changed since the first read. */
export const rollsBack = /^ER_(LOCK_DEADLOCK|CHECKREAD)$/;

const rolledBack =
  'The server has rolled the transaction back, because one of its statements had failed. Let the job throw that error';
