import { tableName, type Fence } from '../fence.js';
import { StaleTokenError } from '../guard-error.js';
import { tableError } from '../sql.js';

/** A database of `node:sqlite` or of `better-sqlite3`. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): unknown;
}

interface Statement {
  run(...values: (string | bigint)[]): { readonly changes: number | bigint };
  all(...values: string[]): unknown[];
}

/** The statement that creates the guard's table. */
export function createTableSql(table = 'lock_fences'): string {
  return `CREATE TABLE IF NOT EXISTS ${tableName(table)} (lock_path text NOT NULL PRIMARY KEY, token integer NOT NULL, grant_number integer NOT NULL)`;
}

const shape = ['lock_path text 1', 'token integer 0', 'grant_number integer 0'];

/** Writes the claim into the guard's row. No other connection can write until the transaction ends. */
export function claim(db: SqliteDatabase, fence: Fence): void {
  const { key, table, token, grant } = fence;
  const prepare = (sql: string): Statement => db.prepare(sql) as Statement;
  db.exec(createTableSql(table));
  const [name = '', schema = 'main'] = table.split('.').reverse();
  const columns = prepare("SELECT name || ' ' || lower(type) || ' ' || pk AS text FROM pragma_table_info(?, ?)");
  const found = (columns.all(name, schema) as { text: string }[]).map(({ text }) => text);
  if (!shape.every((column) => found.includes(column)) || found.some((column) => column.endsWith(' 2')))
    throw tableError(fence, createTableSql(table));
  const { changes } = prepare(
    `INSERT INTO ${table} (lock_path, token, grant_number) VALUES (?, ?, ?) ON CONFLICT (lock_path) DO UPDATE ` +
      'SET token = excluded.token, grant_number = excluded.grant_number ' +
      `WHERE (${name}.token, ${name}.grant_number) <= (excluded.token, excluded.grant_number)`,
  ).run(key, token, grant);
  if (Number(changes) === 1) return;
  const sql = `SELECT CAST(token AS text) AS token, CAST(grant_number AS text) AS stored FROM ${table} WHERE lock_path = ?`;
  const [row] = prepare(sql).all(key) as { token: string; stored: string }[];
  throw new StaleTokenError(fence, { token: BigInt(row?.token ?? 0), grant: BigInt(row?.stored ?? 0) });
}
