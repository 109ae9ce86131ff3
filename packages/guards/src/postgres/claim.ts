import { tableName, type Fence } from '../fence.js';
import { StaleTokenError } from '../guard-error.js';
import { codeOf, rowsOf, tableError, type Execute } from '../sql.js';

/** The statement that creates the guard's table. */
export function createTableSql(table = 'lock_fences'): string {
  return `CREATE TABLE IF NOT EXISTS ${tableName(table)} (lock_path text PRIMARY KEY, token bigint NOT NULL, grant_number bigint NOT NULL)`;
}

/** The SQLSTATE of a missing table. */
export const noTable = '42P01';

const idle = `'idle_in_transaction_session_timeout'`;

/**
 * Writes the claim into the guard's row, which stays locked until the transaction ends. Resolves with the number of the
 * transaction.
 */
export async function claim(execute: Execute, fence: Fence, idleTimeout: string | null): Promise<string> {
  const claimed = await execute(
    `INSERT INTO ${fence.table} AS f (lock_path, token, grant_number) VALUES ($1, $2, $3) ` +
      'ON CONFLICT (lock_path) DO UPDATE SET token = EXCLUDED.token, grant_number = EXCLUDED.grant_number ' +
      'WHERE (f.token, f.grant_number) <= (EXCLUDED.token, EXCLUDED.grant_number) ' +
      'RETURNING pg_typeof(f.token)::text || pg_typeof(f.grant_number)::text AS types, txid_current()::text AS xid, ' +
      `set_config(${idle}, coalesce($4, current_setting(${idle})), true)`,
    [fence.key, fence.token, fence.grant, idleTimeout],
  ).catch((error: unknown) => {
    throw /^42(703|P10|804|883)$/.test(codeOf(error)) ? tableError(fence, createTableSql(fence.table), error) : error;
  });
  const [row] = rowsOf(claimed);
  if (row?.['types'] === 'bigintbigint') return String(row['xid']);
  const sql = `SELECT token::text AS token, grant_number::text AS grant FROM ${fence.table} WHERE lock_path = $1`;
  const [stored] = row ? [] : rowsOf(await execute(sql, [fence.key]));
  if (!stored) throw tableError(fence, createTableSql(fence.table));
  throw new StaleTokenError(fence, {
    token: BigInt(String(stored['token'])),
    grant: BigInt(String(stored['grant'])),
  });
}
