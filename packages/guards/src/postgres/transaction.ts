import type { Pool, PoolClient } from 'pg';
import type { Fence } from '../fence.js';
import type { Transaction } from '../fenced.js';
import { endedByJob, GuardError } from '../guard-error.js';
import { claim } from './claim.js';
import { aborted, JobClient } from './job.js';
import { codeOf, executorOf } from '../sql.js';

/** Begins a transaction on a connection of the pool. */
export async function beginPostgres(pool: Pool, fence: Fence, idleTimeout: string): Promise<Transaction<PoolClient>> {
  const tx = await pool.connect();
  const job = new JobClient(tx);
  // The pool listens only to idle connections. Without a listener, a lost connection would end the process.
  const lose = (error: Error): void => job.lose(error);
  tx.on('error', lose);
  const release = (isUsable: boolean): void => {
    void job.close(); // after the loss of the hold, nothing else has closed it
    if (isUsable) tx.off('error', lose);
    const listeners = tx.listeners('error');
    tx.release(!isUsable);
    if (isUsable) return;
    // The pool would emit an error that is still to be read from the closed connection, and end a process without a
    // listener. It comes after a loss of the hold if the process was stopped for longer than the session and the server's timeout.
    const ofPool = tx.listeners('error').filter((listener) => !listeners.includes(listener));
    for (const listener of ofPool) tx.off('error', listener as (error: Error) => void);
  };
  try {
    await tx.query('BEGIN');
  } catch (error) {
    release(false);
    throw error;
  }
  let xid = '';
  return {
    tx: job.tx,
    async claim() {
      xid = await claim(executorOf(tx), fence, idleTimeout);
    },
    async settle() {
      await job.close();
      job.refuseLost();
    },
    async commit() {
      // One message, whose second statement is not executed if the first one fails: in another transaction, 1 / 0.
      const isSame = `txid_current_if_assigned() IS NOT DISTINCT FROM ${xid}`;
      await tx.query(`SELECT 1 / (${isSame})::int; COMMIT`).catch((error: unknown) => {
        const why = failures[codeOf(error)];
        // A trigger that fails at the commit says where.
        const isTrigger = (error as { where?: unknown }).where !== undefined;
        throw why === undefined || isTrigger ? error : new GuardError('ERR_LOCK_GUARD_FAILED', why, { cause: error });
      });
    },
    rollback() {
      void job.close();
      return tx.query('ROLLBACK');
    },
    // The classes 08 and 57 are about the connection and the server's end.
    isAnswer: (error) => /^(?!08|57P|40003)[0-9A-Z]{5}$/.test(codeOf(error)),
    release,
  };
}

/** The meaning of a SQLSTATE at the commit. */
const failures: Partial<Record<string, string>> = {
  [aborted]:
    'PostgreSQL rolls the transaction back, because one of its statements had failed. Let the job throw that error',
  '22012': endedByJob,
};
