// The features of Baidu's DLock: a type and a target as the key, one queue in the process before the remote lock, and
// renewal before the lease ends.
import assert from 'node:assert/strict';
import { InterProcessMutex, LockClient, lockKey } from 'zookeeper-fair-lock';

const client = await LockClient.connect(process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181');
const lockOf = (type: string, target: string) => new InterProcessMutex(client, `/locks/${lockKey(type, target)}`);

// Any text can be a key, and two different keys never collide. No separator is forbidden in them.
assert.equal(lockOf('order', '42').path, '/locks/order:42');
assert.notEqual(lockKey('a_b', 'c'), lockKey('a', 'b_c'));
assert.notEqual(lockKey('a:b', 'c'), lockKey('a', 'b:c'));
for (const target of ['', '/', '..', '/etc/passwd', 'zoë\0', 'x'.repeat(10_000)]) {
  await lockOf('file', target).withLock((hold) => assert.ok(hold.isValid));
}

// Two hundred jobs of this process wait in memory, in the order in which they asked. Each hand-over is one small
// transaction.
const user = lockOf('user', 'alice');
const served: number[] = [];
let inside = 0;
const jobs = Array.from({ length: 200 }, (_, job) =>
  user.withLock(async () => {
    assert.equal(++inside, 1);
    await new Promise(setImmediate);
    served.push(job);
    inside -= 1;
  }),
);
await Promise.all(jobs);
assert.deepEqual(served, Array.from(served.keys()));

// Renewed long before the lease ends, for as long as the process runs. Apart from the lease, ZooKeeper's session keeps
// the lock.
let renewed = 0;
user.on('renewed', () => (renewed += 1));
await user.withLock(
  async (hold) => {
    while (renewed < 6) await new Promise((resolve) => user.once('renewed', resolve));
    assert.ok(hold.isValid); // six seconds later
  },
  { leaseMs: 5_000, renewEveryMs: 1_000 },
);

console.log('any key, one queue of 200, renewed early');
await client.close();
