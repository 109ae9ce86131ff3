import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FencedHold, FencedOptions } from '../../src/exports.ts';
import { lackOfSqlite, sqliteLibraries } from './sqlite-desk.ts';
import { startMariaDb, startPostgres, startRedisServer, type StoreServer } from './store-server.ts';

/** One store with one library, as the same tests use all of them. */
export interface Desk extends AsyncDisposable {
  /** Runs `job` in a guarded transaction, whose writes append to a list. */
  fenced<T>(hold: FencedHold, job: (write: Write) => T | Promise<T>, options?: FencedOptions & Idle): Promise<T>;
  /** The same without a guard, to show that the test would see a late write. */
  unguarded(job: (write: Write) => Promise<void>): Promise<void>;
  /** The list, in the order of the commits. */
  written(): Promise<string[]>;
  /** The row or the key of the guard, as text; undefined if there is none. */
  guardOf(key: string): Promise<string | undefined>;
  /** Changes the row behind the guard's back. */
  setGuard(key: string, token: bigint, grant: bigint): Promise<void>;
  clear(): Promise<void>;
}

/** Synchronous for SQLite. */
export type Write = (text: string) => void | Promise<void>;

interface Idle {
  readonly idleTimeoutMs?: number;
}

export const libraries = ['pg', 'mysql2', ...sqliteLibraries, 'ioredis', 'redis'] as const;
export type Library = (typeof libraries)[number];

/** The address of a store that runs until it is disposed of: a port, or a file. */
export interface Store extends AsyncDisposable {
  readonly address: string;
}

/** Throws an AdviceError if the store cannot be had here. */
export async function startStore(library: Library): Promise<Store> {
  switch (library) {
    case 'pg':
      return onPort(await startPostgres());
    case 'mysql2':
      return onPort(await startMariaDb());
    case 'ioredis':
    case 'redis':
      return onPort(await startRedisServer());
    case 'better-sqlite3':
    case 'node:sqlite': {
      await lackOfSqlite(library);
      const folder = mkdtempSync(join(tmpdir(), 'guards-'));
      return {
        address: join(folder, 'data.db'),
        [Symbol.asyncDispose]: () => Promise.resolve(rmSync(folder, { recursive: true })),
      };
    }
  }
}

function onPort(server: StoreServer): Store {
  return { address: String(server.port), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

export async function openDesk(library: Library, address: string): Promise<Desk> {
  switch (library) {
    case 'pg':
      return (await import('./postgres-desk.ts')).postgresDesk(Number(address));
    case 'mysql2':
      return (await import('./mysql-desk.ts')).mysqlDesk(Number(address));
    case 'better-sqlite3':
    case 'node:sqlite':
      return (await import('./sqlite-desk.ts')).sqliteDesk(library, address);
    case 'ioredis':
    case 'redis':
      return (await import('./redis-desk.ts')).redisDesk(library, Number(address));
  }
}
