// What node-redlock has: how long the lock is certainly held, after acquiring it and at any time; extending it; a
// signal for the job.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { InterProcessMutex, LockClient, LockLostError } from 'zookeeper-fair-lock';

const client = await LockClient.connect(process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181');
const mutex = new InterProcessMutex(client, '/locks/transfer');

// Without a lease it is the session that ends first: each answer of the servers moves its deadline, so it is never far
// away, and never needs extending.
await mutex.withLock((hold) => {
  assert.ok(hold.remainingMs > 0 && hold.remainingMs < client.sessionTimeoutMs);
});

// redlock.using(['transfer'], 10_000, job): a step is begun only if there is time for it.
const hold = await mutex.acquire({ leaseMs: 10_000 });
assert.ok(hold.remainingMs <= 10_000);
const stepMs = 500;
for (let step = 1; step <= 3; step += 1) {
  if (hold.remainingMs < stepMs) hold.renew(10_000); // lock.extend: this hold, no new one
  await new Promise((resolve) => setTimeout(resolve, stepMs / 10));
  hold.assertValid();
}

// The end comes by itself: first the signal, then the lock passes on. A timer that is late cannot make it look valid.
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
