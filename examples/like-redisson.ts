// The features of Redisson's RLock: tryLock(waitTime, leaseTime), the watchdog, isLocked, remainTimeToLive,
// getHoldCount, forceUnlock.
import assert from 'node:assert/strict';
import { once, on } from 'node:events';
import { InterProcessMutex, LockClient, LockLostError, forceRelease } from 'zookeeper-fair-lock';

const servers = process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181';
const client = await LockClient.connect(servers);
// Stands for another host: objects of one client and path are one lock.
const otherHost = await LockClient.connect(servers);
const mutex = new InterProcessMutex(client, '/locks/report');
const elsewhere = new InterProcessMutex(otherHost, '/locks/report');

// tryLock(30, 60, SECONDS): wait for at most half a minute, hold for at most a minute.
const hold = await mutex.tryAcquire({ timeoutMs: 30_000, leaseMs: 60_000 });
assert.ok(hold && hold.remainingMs > 0 && hold.remainingMs <= 60_000); // remainTimeToLive
assert.equal(await elsewhere.isLocked(), true);
assert.equal(await elsewhere.tryAcquire(100), undefined);
hold.renew(120_000); // ends two minutes from now; sends no request
await hold.release();
assert.equal(await elsewhere.isLocked(), false);

// getHoldCount: the owner is the code inside a function, not a thread.
await mutex.withLock(async () => {
  await mutex.withLock(() => assert.equal(mutex.holdCount, 2));
  assert.equal(mutex.holdCount, 1);
});

// The watchdog renews every third of the lease. The lock is kept for as long as this process runs, even if the job
// hangs.
const renewals = new EventTarget();
mutex.on('renewed', () => renewals.dispatchEvent(new Event('renewed')));
const watched = await mutex.acquire({ leaseMs: 4_500, renewEveryMs: 1_500 });
let count = 0;
for await (const _ of on(renewals, 'renewed')) if (++count === 4) break;
assert.ok(watched.isValid); // six seconds later
await watched.release();

// A lease without a watchdog ends the hold of a job that hangs: the next waiter gets the lock.
const job = new EventTarget();
const begins = once(job, 'begins');
const hanging = mutex.withLock(() => (job.dispatchEvent(new Event('begins')), new Promise<never>(() => {})), {
  leaseMs: 200,
});
await begins;
const next = elsewhere.acquire({ timeoutMs: 30_000 });
await assert.rejects(hanging, (error) => error instanceof LockLostError && error.reason === 'lease-expired');
await (await next).release();

// forceUnlock, but the holder learns of it before another owner has the lock, and has half a minute to release.
const taken = await mutex.acquire();
const told = once(taken.signal, 'abort').then(() => taken.release());
assert.equal(await forceRelease(client, taken.path, { timeoutMs: 30_000 }), 'released');
assert.equal(await told, 'lost');

console.log('timed, leased, renewed, counted, ended, taken');
await client.close();
await otherHost.close();
