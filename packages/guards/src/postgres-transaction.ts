import type { Pool, PoolClient } from 'pg';
import type { Fence } from './fence.js';
import type { Transaction } from './fenced.js';
import { GuardError } from './guard-error.js';
import { claim } from './postgres-claim.js';
import { codeOf, executorOf } from './sql.js';

/** Begins a transaction on a connection of the pool. */
export async function beginPostgres(pool: Pool, fence: Fence, idleTimeout: string): Promise<Transaction<PoolClient>> {
  const tx = await pool.connect();
  // The pool listens only to idle connections. Without a listener, a lost connection would end the process.
  const ignore = (): void => undefined;
  tx.on('error', ignore);
  const release = (isUsable: boolean): void => {
    tx.off('error', ignore);
    tx.release(!isUsable);
  };
  try {
    await tx.query('BEGIN');
  } catch (error) {
    release(false);
    throw error;
  }
  return {
    tx,
    claim: () => claim(executorOf(tx), fence, idleTimeout),
    async commit() {
      const { command } = await tx.query('COMMIT');
      // PostgreSQL answers so, without an error, if a statement failed and the job went on.
      if (command !== 'COMMIT')
        throw new GuardError(
          'ERR_LOCK_GUARD_FAILED',
          'PostgreSQL has rolled the transaction back, because one of its statements had failed. Let the job throw that error',
        );
    },
    rollback: () => tx.query('ROLLBACK'),
    // The classes 08 and 57 are about the connection and the server's end.
    isAnswer: (error) => /^(?!08|57P|40003)[0-9A-Z]{5}$/.test(codeOf(error)),
    release,
  };
}
