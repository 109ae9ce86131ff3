import { tableName, type Fence } from '../fence.js';
import { StaleTokenError } from '../guard-error.js';
import { codeOf, executorOf, rowsOf, tableError, type Connection, type Execute } from '../sql.js';

/** The statement that creates the guard's table. */
export function createTableSql(table = 'lock_fences'): string {
  return (
    `CREATE TABLE IF NOT EXISTS ${tableName(table)} (lock_path varchar(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, ` +
    'token bigint NOT NULL, grant_number bigint NOT NULL) ENGINE = InnoDB'
  );
}

export const noTable = 'ER_NO_SUCH_TABLE';

/** A connection of mysql2 has `config`. Its pool may ask for rows in another form than the guard reads. */
export function mysqlExecutorOf(tx: Connection | Execute): Execute {
  const execute = executorOf(tx);
  if (typeof tx === 'function' || !('config' in tx)) return execute;
  const form = { rowsAsArray: false, nestTables: false, typeCast: true };
  return (sql, values) => tx.query({ sql, ...form } as unknown as string, [...values]);
}

/** Tables that have the right shape, by the pool or the connection: another one may lead to another database. */
const checkedBy = new WeakMap<object, Set<string>>();

/**
 * Writes the claim into the guard's row, which stays locked until the transaction ends. Resolves with the status of the
 * server after that, if the library tells it.
 */
export async function claim(execute: Execute, fence: Fence, database: object): Promise<unknown> {
  const { key, table } = fence;
  if (!checkedBy.get(database)?.has(table)) await check(execute, fence, database);
  // An upsert does not say which way it took. LAST_INSERT_ID(n) puts n into the answer: 2 for a stale token, otherwise 1.
  const claimed = await execute(
    `INSERT INTO ${table} (lock_path, token, grant_number) VALUES (IF(LAST_INSERT_ID(1) = 1, ?, NULL), ?, ?) ` +
      'ON DUPLICATE KEY UPDATE grant_number = IF(LAST_INSERT_ID(IF(token > VALUES(token) OR ' +
      '(token = VALUES(token) AND grant_number > VALUES(grant_number)), 2, 1)) = 1, VALUES(grant_number), grant_number), ' +
      'token = GREATEST(token, VALUES(token))',
    [key, String(fence.token), String(fence.grant)],
  ).catch((error: unknown) => {
    throw codeOf(error) === 'ER_BAD_FIELD_ERROR' ? tableError(fence, createTableSql(table), error) : error;
  });
  const { insertId, serverStatus } = ((Array.isArray(claimed) ? claimed[0] : claimed) ?? {}) as Header;
  if (Number(insertId) === 1) return serverStatus;
  if (Number(insertId) !== 2)
    throw new TypeError('Expected the function to resolve with the `insertId` of the statement');
  const sql = `SELECT CAST(token AS CHAR) AS token, CAST(grant_number AS CHAR) AS stored_grant FROM ${table} WHERE lock_path = ? FOR UPDATE`;
  const [stored] = rowsOf(await execute(sql, [key]));
  throw new StaleTokenError(fence, {
    token: BigInt(String(stored?.['token'])),
    grant: BigInt(String(stored?.['stored_grant'])),
  });
}

interface Header {
  readonly insertId?: unknown;
  readonly serverStatus?: unknown;
}

/** Without a primary key, for example, each claim would succeed. A missing table is left to the claim. */
async function check(execute: Execute, fence: Fence, database: object): Promise<void> {
  const [name = '', schema = null] = fence.table.split('.').reverse();
  const sql =
    "SELECT c.column_name AS name, CONCAT(c.data_type, IF(c.column_key = 'PRI', ' key ', ' '), t.engine) AS type " +
    'FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name) ' +
    'WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?';
  const rows = rowsOf(await execute(sql, [schema, name]));
  if (rows.length === 0) return;
  const types = new Map(rows.map((row) => [row['name'], row['type']]));
  const isOther = Object.entries(shape).some(([column, type]) => types.get(column) !== type);
  if (isOther || rows.filter((row) => String(row['type']).includes(' key ')).length > 1)
    throw tableError(fence, createTableSql(fence.table));
  checkedBy.set(database, (checkedBy.get(database) ?? new Set()).add(fence.table));
}

const shape = { lock_path: 'varchar key InnoDB', token: 'bigint InnoDB', grant_number: 'bigint InnoDB' };
