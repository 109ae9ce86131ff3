// A transaction of a database that a late holder of the lock cannot commit, by @zookeeper-fair-lock/guards. SQLite needs
// no server; with PostgreSQL, MySQL or MariaDB the job is asynchronous, and `db` is a pool.
import assert from 'node:assert/strict';
import Database from 'better-sqlite3';
import { fenced } from '@zookeeper-fair-lock/guards/sqlite';
import { InterProcessMutex, LockClient, forceRelease, type Hold } from 'zookeeper-fair-lock';

const servers = process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181';
const client = await LockClient.connect(servers);
const db = new Database(':memory:');
db.exec("CREATE TABLE account (id text PRIMARY KEY, balance integer); INSERT INTO account VALUES ('alice', 100)");

/** Reads and writes in one transaction, whose first statement claims the row of the lock. */
function withdraw(hold: Hold, sum: number): Promise<unknown> {
  return fenced(db, hold, (tx) => {
    const { balance } = tx.prepare("SELECT balance FROM account WHERE id = 'alice'").get() as { balance: number };
    return tx.prepare("UPDATE account SET balance = ? WHERE id = 'alice'").run(balance - sum);
  });
}

const slow = await new InterProcessMutex(client, '/locks/accounts/alice').acquire();

// The slow holder stops here, as it would in a pause. Its hold looks valid to it: it has not looked at the clock since.
const paused = new Proxy(slow, {
  get: (hold, name) => (name === 'assertValid' ? () => undefined : (Reflect.get(hold, name, hold) as unknown)),
});
await forceRelease(client, slow.path, { timeoutMs: 0 });
await new InterProcessMutex(client, '/locks/accounts/alice').withLock((quick) => withdraw(quick, 10));

await assert.rejects(withdraw(paused, 30), { code: 'ERR_LOCK_STALE_TOKEN' });
assert.deepEqual(db.prepare('SELECT balance FROM account').get(), { balance: 90 });
console.log('the late transaction was refused');
db.close();
await client.close();
