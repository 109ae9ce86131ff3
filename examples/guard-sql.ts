// A database row that stores the fencing token of its lock's holder, and refuses a holder that is late.
// SQLite in memory stands for any database: the statements run on PostgreSQL as they are, with `token bigint`.
import assert from 'node:assert/strict';
import sqlite from 'node-sqlite3-wasm';
import { InterProcessMutex, LockClient, forceRelease, type Hold } from 'zookeeper-fair-lock';

const servers = process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181';
const client = await LockClient.connect(servers);
const db = new sqlite.Database(':memory:');
db.exec(`
  CREATE TABLE account (id text PRIMARY KEY, balance bigint NOT NULL, token bigint NOT NULL DEFAULT 0);
  INSERT INTO account (id, balance) VALUES ('alice', 100);
`);

/**
 * Call it first. From now on no earlier holder can write here, so the value that it reads stays true until it is
 * written.
 */
function claim(hold: Hold): number {
  const row = db.get('UPDATE account SET token = $1 WHERE id = $2 AND token <= $1 RETURNING balance', {
    $1: hold.fencingToken,
    $2: 'alice',
  });
  if (!row) throw new Error(`Token ${hold.fencingToken} is too old: a later holder has claimed the row`);
  return Number(row['balance']);
}

/** Each write carries its token. If no row changes, a later holder has claimed the row. */
function write(hold: Hold, balance: number): void {
  const { changes } = db.run('UPDATE account SET balance = $1 WHERE id = $2 AND token = $3', {
    $1: balance,
    $2: 'alice',
    $3: hold.fencingToken,
  });
  if (changes === 0) throw new Error(`Token ${hold.fencingToken} is too old: a later holder has claimed the row`);
}

const slow = new InterProcessMutex(client, '/locks/accounts/alice');
const quick = new InterProcessMutex(client, '/locks/accounts/alice');

const slowHold = await slow.acquire();
const before = claim(slowHold);

// The slow holder stops here, as it would in a pause, in a blocked loop, or in a job that ignores its signal. Meanwhile
// another owner takes the lock.
await forceRelease(client, slowHold.path, { timeoutMs: 0 });
await quick.withLock((quickHold) => {
  const balance = claim(quickHold);
  // The slow holder goes on between the read and the write of the quick one. Without the claim, its write would
  // succeed.
  assert.throws(() => write(slowHold, before - 30), /too old/);
  assert.throws(() => claim(slowHold), /too old/);
  write(quickHold, balance - 10);
});

assert.equal(db.get("SELECT balance FROM account WHERE id = 'alice'")?.['balance'], 90);
console.log('the late write was refused');
db.close();
await client.close();
