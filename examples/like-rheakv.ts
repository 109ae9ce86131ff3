// The features of RheaKV's DistributedLock: a context that others can read, a fencing token, an optional watchdog, and
// whether the owner already held the lock.
import assert from 'node:assert/strict';
import { InterProcessMutex, LockClient, lockContext } from 'zookeeper-fair-lock';

const servers = process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181';
const client = await LockClient.connect(servers);
// Stands for another host: objects of one client and path are one lock.
const otherHost = await LockClient.connect(servers);
const mutex = new InterProcessMutex(client, '/locks/region-7');
const elsewhere = new InterProcessMutex(otherHost, '/locks/region-7');

const firstToken = await lockContext.run(async () => {
  const work = { job: 'compact', ticket: 4711 };
  const hold = await mutex.acquire({ data: Buffer.from(JSON.stringify(work)), leaseMs: 60_000, renewEveryMs: 40_000 });
  assert.equal(hold.isReentrant, false);

  // Any client can read the holder from the servers.
  const holder = await elsewhere.holder();
  assert.deepEqual(JSON.parse(String(holder?.data)), work);
  assert.equal(holder?.path, hold.path);

  // Deeper in the same job: the same lock and the same token, without a request.
  const again = await mutex.acquire();
  assert.equal(again.isReentrant, true);
  assert.equal(again.fencingToken, hold.fencingToken);
  await again.release();
  await hold.release();
  return hold.fencingToken;
});

// The holder's process, if the application gives no text of its own.
await elsewhere.withLock(
  async (hold) => {
    assert.deepEqual((await mutex.holder())?.owner, {
      host: hold.owner.host,
      pid: process.pid,
      sessionId: hold.owner.sessionId,
    });
    assert.ok(hold.fencingToken > firstToken);
  },
  { data: 'owner' },
);
assert.equal(await mutex.holder(), undefined);

console.log('read by others, first and re-entrant, tokens that grow');
await client.close();
await otherHost.close();
