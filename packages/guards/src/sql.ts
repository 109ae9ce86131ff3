import type { Fence } from './fence.js';
import { GuardError } from './guard-error.js';

/** Runs one statement in the user's transaction, and resolves with the library's result. */
export type Execute = (sql: string, values: readonly unknown[]) => Promise<unknown>;

/** A connection of a library whose `query` takes the statement and its values. */
export interface Connection {
  query(sql: string, values: unknown[]): Promise<unknown>;
}

type Row = Readonly<Record<string, unknown>>;

/** A connection with `query`, or a function for a library that has another call. */
export function executorOf(tx: Connection | Execute): Execute {
  if (typeof tx === 'function') return async (sql, values) => tx(sql, values); // also of a function without a promise
  const { query, totalCount, getConnection } = ((tx as unknown) ?? {}) as Record<string, unknown>;
  if (typeof query !== 'function')
    throw new TypeError('Expected `tx` to be a connection with `query`, or a function (sql, values) => Promise');
  // A pool of `pg` has the one, and a pool of `mysql2` the other.
  if (typeof totalCount === 'number' || typeof getConnection === 'function') throw new TypeError(noTransaction);
  return (sql, values) => tx.query(sql, [...values]);
}

/** The message of `guard` where each statement is committed at once. */
export const noTransaction =
  'Expected the connection of a transaction that has begun: outside of one, and by a pool, nothing is guarded';

/** The rows of a result: an array, `{ rows }`, or an array of them and the fields. */
export function rowsOf(result: unknown): readonly Row[] {
  const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | undefined)?.rows;
  if (!Array.isArray(rows)) throw new TypeError('Expected the function to resolve with rows, or with { rows }');
  return (Array.isArray(rows[0]) ? rows[0] : rows) as Row[];
}

/** The code of a store's error, also if a library has wrapped it; '' if there is none. */
export function codeOf(error: unknown): string {
  // A job may throw anything.
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return typeof code === 'string' ? code : cause instanceof Error ? codeOf(cause) : '';
}

export function tableError({ table }: Fence, sql: string, cause?: unknown): GuardError {
  return new GuardError(
    'ERR_LOCK_GUARD_FAILED',
    `The table ${table} is missing, or it is not a guard's table. Expected: ${sql}. The option \`table\` gives another name`,
    { cause },
  );
}
