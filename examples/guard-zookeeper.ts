// Writes to ZooKeeper that only the holder of a lock can make: one transaction that also checks the holder's own znode.
import assert from 'node:assert/strict';
import { promisify } from 'node:util';
import zookeeper from 'node-zookeeper-client';
import { InterProcessMutex, LockClient, LockLostError, RequestFailedError, forceRelease } from 'zookeeper-fair-lock';

const servers = process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181';
const locks = await LockClient.connect(servers);
// Your own client reads the data.
const app = zookeeper.createClient(servers, { sessionTimeout: 30_000, retries: 0 });
app.connect();

const slow = new InterProcessMutex(locks, '/locks/config');
const quick = new InterProcessMutex(locks, '/locks/config');

const slowHold = await slow.acquire();
await slowHold.transaction().create('/config', Buffer.from('by the slow holder')).commit();
const prepared = slowHold.transaction().setData('/config', Buffer.from('by the slow holder, too late'));

// The slow holder stops here, as it would in a pause, in a blocked loop, or in a job that ignores its signal. Meanwhile
// another owner takes the lock.
await forceRelease(locks, slowHold.path, { timeoutMs: 0 });
await quick.withLock(async (quickHold) => {
  // Version 0: the data must be those of the creation. Both operations are done, or none of them.
  const [{ version }, entry] = await quickHold
    .transaction()
    .setData('/config', Buffer.from('by the quick holder'), { version: 0 })
    .create('/config/change-', Buffer.from('quick'), { mode: 'persistent-sequential' })
    .commit();
  assert.deepEqual([version, entry], [1, '/config/change-0000000000']);

  // Now the slow holder goes on, and tries its write.
  await assert.rejects(prepared.commit(), LockLostError);

  // A version that is out of date says which operation was refused, and leaves the lock as it is.
  const stale = quickHold
    .transaction()
    .check('/config/change-0000000000')
    .setData('/config', Buffer.from('?'), { version: 0 });
  await assert.rejects(stale.commit(), (error) => {
    assert.ok(error instanceof RequestFailedError);
    assert.deepEqual(error.operation, { index: 1, name: 'setData', path: '/config' });
    return quickHold.isValid;
  });
});

assert.equal(String(await promisify(app.getData.bind(app))('/config')), 'by the quick holder');
console.log('the late write was refused');
await locks.close();
app.close();
