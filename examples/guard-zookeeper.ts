// A write to ZooKeeper that only the holder of a lock can make: one transaction that also checks the holder's own
// znode.
// The application writes with a client of its own. That client must use the same servers and chroot, because
// `hold.path` is a path below this chroot.
import assert from 'node:assert/strict';
import { promisify } from 'node:util';
import zookeeper from 'node-zookeeper-client';
import { InterProcessMutex, LockClient, forceRelease, type Hold } from 'zookeeper-fair-lock';

const servers = process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181';
const locks = await LockClient.connect(servers);
const app = zookeeper.createClient(servers, { sessionTimeout: 30_000, retries: 0 });
app.connect();

/**
 * Writes only while `hold` is held. The servers decide this: the check and the write succeed together, or not at all.
 */
function setWhileHeld(hold: Hold, path: string, data: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const transaction = app.transaction().check(hold.path).setData(path, Buffer.from(data));
    transaction.commit((error, results) => {
      if (!error) resolve();
      // The first operation is the check. If it failed, the hold has ended, and another owner may have the lock.
      else reject(results?.[0]?.err ? new Error(`${hold.path} is gone, nothing was written`, { cause: error }) : error);
    });
  });
}

const slow = new InterProcessMutex(locks, '/locks/config');
const quick = new InterProcessMutex(locks, '/locks/config');

const slowHold = await slow.acquire();
await promisify(app.create.bind(app))('/config', Buffer.from('none'));
await setWhileHeld(slowHold, '/config', 'by the slow holder');

// The slow holder stops here, as it would in a pause, in a blocked loop, or in a job that ignores its signal. Meanwhile
// another owner takes the lock.
await forceRelease(locks, slowHold.path, { timeoutMs: 0 });
await quick.withLock(async (quickHold) => {
  await setWhileHeld(quickHold, '/config', 'by the quick holder');
  // Now the slow holder goes on, and tries its write.
  await assert.rejects(
    setWhileHeld(slowHold, '/config', 'by the slow holder, too late'),
    /is gone, nothing was written/,
  );
});

assert.equal(String(await promisify(app.getData.bind(app))('/config')), 'by the quick holder');
console.log('the late write was refused');
await locks.close();
app.close();
