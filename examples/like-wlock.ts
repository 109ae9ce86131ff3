// The features of WLock: weights, events for every change of a lock, and the owner in every result.
import assert from 'node:assert/strict';
import { InterProcessMutex, LockClient } from 'zookeeper-fair-lock';

const client = await LockClient.connect(process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181');
const mutex = new InterProcessMutex(client, '/locks/printer', { weights: {} });
const told: string[] = [];
for (const event of ['queued', 'acquired', 'renewed', 'expired', 'lost', 'released'] as const)
  mutex.on(event, () => told.push(event));

// Heavier waiters first; equal weights in order of arrival. The number of overtakes is limited, so every waiter gets
// its turn.
const hold = await mutex.acquire({ weight: 1 });
const served: { name: string; token: bigint }[] = [];
const waiting: Promise<void>[] = [];
for (const [name, weight] of [
  ['light', 1],
  ['light, later', 1],
  ['heavy', 10],
] as const) {
  const queued = new Promise((resolve) => mutex.once('queued', resolve));
  waiting.push(mutex.withLock(({ fencingToken }) => void served.push({ name, token: fencingToken }), { weight }));
  await queued;
}
await hold.release();
await Promise.all(waiting);
assert.deepEqual(
  served.map(({ name }) => name),
  ['heavy', 'light', 'light, later'],
);
// Like the version in WLock's results, the token grows with every grant, in whatever order the owners asked.
assert.ok(served.every(({ token }, turn) => token > (served[turn - 1]?.token ?? hold.fencingToken)));

// Expiry, renewal, and the owner: host, process and session.
const leased = await mutex.acquire({ leaseMs: 60_000 });
assert.equal(leased.owner.pid, process.pid);
leased.renew(50);
await new Promise((resolve) => mutex.once('expired', resolve));
assert.equal(leased.isValid, false);

const first = ['acquired', 'queued', 'queued', 'queued', 'released'];
const turns = ['acquired', 'released', 'acquired', 'released', 'acquired', 'released'];
assert.deepEqual(told, [...first, ...turns, 'acquired', 'renewed', 'expired']);

console.log('heavier first, an event for every change');
await client.close();
