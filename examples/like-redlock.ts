// The features of node-redlock: how long the lock is certainly held, after the acquire and at any time; extending it; a
// signal for the job.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { InterProcessMutex, LockClient, LockLostError } from 'zookeeper-fair-lock';

const client = await LockClient.connect(process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181');
const mutex = new InterProcessMutex(client, '/locks/transfer');

// Without a lease, the session limits the hold. Each confirmed write moves the session's deadline, so the deadline is
// never far away, and the job never has to extend it.
await mutex.withLock((hold) => {
  assert.ok(hold.remainingMs > 0 && hold.remainingMs < client.sessionTimeoutMs);
});

// redlock.using(['transfer'], 10_000, job): begin a step only if there is enough time for it.
const hold = await mutex.acquire({ leaseMs: 10_000 });
assert.ok(hold.remainingMs <= 10_000);
const stepMs = 500;
for (let step = 1; step <= 3; step += 1) {
  if (hold.remainingMs < stepMs) hold.renew(10_000); // lock.extend: renews this hold and returns no new one
  await new Promise((resolve) => setTimeout(resolve, stepMs / 10));
  hold.assertValid();
}

// The lease ends by itself: first the signal aborts, then the next waiter gets the lock. A late timer cannot make the
// hold look valid.
hold.renew(100);
const [lost] = await Promise.all([
  once(hold.signal, 'abort').then(() => hold.signal.reason as unknown),
  mutex.acquire().then((next) => next.release()),
]);
assert.ok(lost instanceof LockLostError && lost.reason === 'lease-expired');
assert.deepEqual([hold.isValid, hold.remainingMs], [false, 0]);
assert.throws(() => hold.renew(10_000), LockLostError);

console.log('the time that is left, and its end');
await client.close();
