// A row that knows the fencing token of whoever holds its lock, and refuses a holder that is late.
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
 * First of all: from now on nobody who held the lock before can write here. Then what is read stays true until it is
 * written.
 */
function claim(hold: Hold): number {
  const row = db.get('UPDATE account SET token = $1 WHERE id = $2 AND token <= $1 RETURNING balance', {
    $1: hold.fencingToken,
    $2: 'alice',
  });
  if (!row) throw new Error(`Token ${hold.fencingToken} is too old: a later holder has been here`);
  return Number(row['balance']);
}

/** Each write says whose it is. No row changed: a later holder has claimed it. */
function write(hold: Hold, balance: number): void {
  const { changes } = db.run('UPDATE account SET balance = $1 WHERE id = $2 AND token = $3', {
    $1: balance,
    $2: 'alice',
    $3: hold.fencingToken,
  });
  if (changes === 0) throw new Error(`Token ${hold.fencingToken} is too old: a later holder has been here`);
}

const slow = new InterProcessMutex(client, '/locks/accounts/alice');
const quick = new InterProcessMutex(client, '/locks/accounts/alice');

const slowHold = await slow.acquire();
const before = claim(slowHold);

// The slow one stops here: a pause, a blocked loop, a job that ignores its signal. Its lock is taken meanwhile.
await forceRelease(client, slowHold.path, { timeoutMs: 0 });
await quick.withLock((quickHold) => {
  const balance = claim(quickHold);
  // Between the read and the write of the quick one the slow one goes on. Without the claim it would have got through.
  assert.throws(() => write(slowHold, before - 30), /too old/);
  assert.throws(() => claim(slowHold), /too old/);
  write(quickHold, balance - 10);
});

assert.equal(db.get("SELECT balance FROM account WHERE id = 'alice'")?.['balance'], 90);
console.log('the late write was refused');
db.close();
await client.close();
