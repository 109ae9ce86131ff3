import mysql from 'mysql2/promise';
import { fenced } from '../../src/mysql.ts';
import type { Desk } from './desk.ts';

export function mysqlPool(port: number, options: mysql.PoolOptions = {}): mysql.Pool {
  return mysql.createPool({
    host: '127.0.0.1',
    port,
    user: 'root',
    database: 'guards',
    connectionLimit: 10,
    ...options,
  });
}

export async function mysqlDesk(port: number): Promise<Desk> {
  const first = await mysql.createConnection({ host: '127.0.0.1', port, user: 'root' });
  await first.query('CREATE DATABASE IF NOT EXISTS guards');
  await first.end();
  const pool = mysqlPool(port);
  await pool.query(
    'CREATE TABLE IF NOT EXISTS written (id bigint AUTO_INCREMENT PRIMARY KEY, text varchar(200) NOT NULL)',
  );
  const writeBy =
    (tx: mysql.PoolConnection) =>
    async (text: string): Promise<void> => {
      await tx.query('INSERT INTO written (text) VALUES (?)', [text]);
    };
  return {
    fenced: (hold, job, options) => fenced(pool, hold, (tx) => job(writeBy(tx)), options),
    async unguarded(job) {
      const tx = await pool.getConnection();
      try {
        await tx.beginTransaction();
        await job(writeBy(tx));
        await tx.commit();
      } finally {
        tx.release();
      }
    },
    async written() {
      const [rows] = await pool.query<mysql.RowDataPacket[]>('SELECT text FROM written ORDER BY id');
      return rows.map((row) => String(row['text']));
    },
    async guardOf(key) {
      const [rows] = await pool.query<mysql.RowDataPacket[]>(
        "SELECT CONCAT(token, ':', grant_number) AS text FROM lock_fences WHERE lock_path = ?",
        [key],
      );
      return rows[0]?.['text'] as string | undefined;
    },
    async setGuard(key, token, grant) {
      await pool.query('UPDATE lock_fences SET token = ?, grant_number = ? WHERE lock_path = ?', [
        String(token),
        String(grant),
        key,
      ]);
    },
    clear: async () => {
      await pool.query('DELETE FROM written');
    },
    [Symbol.asyncDispose]: () => pool.end(),
  };
}
