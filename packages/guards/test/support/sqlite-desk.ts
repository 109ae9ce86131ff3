import { createRequire, isBuiltin } from 'node:module';
import { join } from 'node:path';
import { AdviceError } from '../../../../lab/servers/docker/advice.ts';
import { fetched } from '../../../../lab/servers/fetched.ts';
import { fenced, type SqliteDatabase } from '../../src/sqlite.ts';
import type { Desk } from './desk.ts';

export type SqliteLibrary = 'better-sqlite3' | 'node:sqlite';

interface Database extends SqliteDatabase {
  prepare(sql: string): {
    run(...values: (string | bigint)[]): unknown;
    all(...values: string[]): unknown[];
    iterate(): Iterator<unknown>;
  };
  close(): unknown;
}

/** The SQLite libraries that this Node can have. */
export const sqliteLibraries: readonly SqliteLibrary[] = isBuiltin('node:sqlite')
  ? ['better-sqlite3', 'node:sqlite']
  : ['better-sqlite3'];

/** Throws an AdviceError if the library cannot be had here. */
export async function lackOfSqlite(library: SqliteLibrary): Promise<void> {
  try {
    (await openDatabase(library, ':memory:')).close();
  } catch (error) {
    throw new AdviceError(
      `${library} cannot be loaded by Node ${process.versions.node}: ${String(error).split('\n')[0]}`,
    );
  }
}

export async function openDatabase(library: SqliteLibrary, file: string): Promise<Database> {
  if (library === 'better-sqlite3') return new (await betterSqlite3())(file, { timeout: 0 });
  const name: string = library; // the types of Node 20 do not know it
  const { DatabaseSync } = (await import(name)) as { DatabaseSync: new (file: string) => Database };
  return new DatabaseSync(file);
}

type BetterSqlite3 = new (file: string, options: { readonly timeout: number }) => Database;

/** npm compiles it, which takes minutes and a compiler. So it is no dependency of the project. */
async function betterSqlite3(): Promise<BetterSqlite3> {
  const folder = await fetched(
    `better-sqlite3-${version}-${process.versions.modules}`,
    (place) => [['npm', 'install', '--prefix', place, '--no-audit', '--no-fund', `better-sqlite3@${version}`]],
    600_000,
  );
  return createRequire(join(folder, 'index.js'))('better-sqlite3') as BetterSqlite3;
}

const version = '12.11.1';

export async function sqliteDesk(library: SqliteLibrary, file: string): Promise<Desk> {
  const db = await openDatabase(library, file);
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('CREATE TABLE IF NOT EXISTS written (id integer PRIMARY KEY AUTOINCREMENT, text text NOT NULL)');
  const insert = db.prepare('INSERT INTO written (text) VALUES (?)');
  const write = (text: string): void => void insert.run(text);
  return {
    // The tests pass a synchronous job.
    fenced: (hold, job, options) =>
      fenced(db, hold, () => job(write) as Awaited<ReturnType<typeof job>>, { retries: 40, ...options }),
    unguarded: async (job) => job(write),
    written: async () =>
      (db.prepare('SELECT text FROM written ORDER BY id').all() as { text: string }[]).map(({ text }) => text),
    async guardOf(key) {
      const sql = "SELECT token || ':' || grant_number AS text FROM lock_fences WHERE lock_path = ?";
      return (db.prepare(sql).all(key) as { text: string }[])[0]?.text;
    },
    async setGuard(key, token, grant) {
      db.prepare('UPDATE lock_fences SET token = ?, grant_number = ? WHERE lock_path = ?').run(token, grant, key);
    },
    clear: async () => void db.exec('DELETE FROM written'),
    [Symbol.asyncDispose]: async () => void db.close(),
  };
}
