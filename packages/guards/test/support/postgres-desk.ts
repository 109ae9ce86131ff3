import pg from 'pg';
import { fenced } from '../../src/postgres.ts';
import type { Desk } from './desk.ts';

export function postgresPool(port: number, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'guards', database: 'postgres', max: 10, ...options });
  pool.on('error', () => undefined); // the server ends
  return pool;
}

export async function postgresDesk(port: number): Promise<Desk> {
  const pool = postgresPool(port);
  await pool
    .query('CREATE TABLE IF NOT EXISTS written (id bigserial PRIMARY KEY, text text NOT NULL)')
    .catch(() => undefined);
  const writeBy =
    (tx: Pick<pg.PoolClient, 'query'>) =>
    async (text: string): Promise<void> => {
      await tx.query('INSERT INTO written (text) VALUES ($1)', [text]);
    };
  return {
    fenced: (hold, job, options) => fenced(pool, hold, (tx) => job(writeBy(tx)), options),
    async unguarded(job) {
      const tx = await pool.connect();
      try {
        await tx.query('BEGIN');
        await job(writeBy(tx));
        await tx.query('COMMIT');
      } finally {
        tx.release();
      }
    },
    async written() {
      const { rows } = await pool.query<{ text: string }>('SELECT text FROM written ORDER BY id');
      return rows.map(({ text }) => text);
    },
    async guardOf(key) {
      const { rows } = await pool.query<{ text: string }>(
        `SELECT token || ':' || grant_number AS text FROM lock_fences WHERE lock_path = $1`,
        [key],
      );
      return rows[0]?.text;
    },
    async setGuard(key, token, grant) {
      await pool.query('UPDATE lock_fences SET token = $2, grant_number = $3 WHERE lock_path = $1', [
        key,
        token,
        grant,
      ]);
    },
    clear: async () => {
      await pool.query('TRUNCATE written');
    },
    [Symbol.asyncDispose]: () => pool.end(),
  };
}
