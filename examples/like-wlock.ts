// What WLock has: weights, events for all that happens to a lock, and whose it is with every result.
import assert from 'node:assert/strict';
import { InterProcessMutex, LockClient } from 'zookeeper-fair-lock';

const client = await LockClient.connect(process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181');
const mutex = new InterProcessMutex(client, '/locks/printer', { weights: {} });
const told: string[] = [];
for (const event of ['queued', 'acquired', 'renewed', 'expired', 'lost', 'released'] as const)
  mutex.on(event, () => told.push(event));

// Heavier first; within a weight, first come, first served. Nobody is overtaken for ever.
const hold = await mutex.acquire({ weight: 1 });
const served: { name: string; token: bigint }[] = [];
const waiting: Promise<void>[] = [];
for (const [name, weight] of [
  ['light', 1],
  ['light, later', 1],
  ['heavy', 10],
] as const) {
  const inLine = new Promise((resolve) => mutex.once('queued', resolve));
  waiting.push(mutex.withLock(({ fencingToken }) => void served.push({ name, token: fencingToken }), { weight }));
  await inLine;
}
await hold.release();
await Promise.all(waiting);
assert.deepEqual(
  served.map(({ name }) => name),
  ['heavy', 'light', 'light, later'],
);
// The version of WLock's results: it grows from grant to grant, whoever asked first.
assert.ok(served.every(({ token }, turn) => token > (served[turn - 1]?.token ?? hold.fencingToken)));

// Expiry, renewal, and who it is: host, process and session.
const leased = await mutex.acquire({ leaseMs: 60_000 });
assert.equal(leased.owner.pid, process.pid);
leased.renew(50);
await new Promise((resolve) => mutex.once('expired', resolve));
assert.equal(leased.isValid, false);

const first = ['acquired', 'queued', 'queued', 'queued', 'released'];
const turns = ['acquired', 'released', 'acquired', 'released', 'acquired', 'released'];
assert.deepEqual(told, [...first, ...turns, 'acquired', 'renewed', 'expired']);

console.log('heavier first, told of everything');
await client.close();
