// Tests of an application's own code, with a ZooKeeper in the same process. They need no Java and no Docker, and run in
// milliseconds.
// `docs/testing.md` shows the same for mocha, vitest and jest.
import assert from 'node:assert/strict';
import { InterProcessMutex, LockClient, LockLostError, type Hold } from 'zookeeper-fair-lock';
import { EmbeddedZooKeeper } from '@zookeeper-fair-lock/testing';

/** The code under test: one process at a time sends the report, and stops when it has lost the lock. */
function sendReport(client: LockClient, send: (hold: Hold) => Promise<string>): Promise<string> {
  return new InterProcessMutex(client, '/locks/report').withLock(send, { timeoutMs: 5_000 });
}

const zk = await EmbeddedZooKeeper.start();
const client = await LockClient.connect(zk.connectString);
const other = await LockClient.connect(zk.connectString);

// Only one process at a time sends.
let inside = 0;
const send = async (): Promise<string> => {
  assert.equal((inside += 1), 1);
  await Promise.resolve();
  inside -= 1;
  return 'sent';
};
assert.deepEqual(await Promise.all([sendReport(client, send), sendReport(other, send)]), ['sent', 'sent']);

// The answer to the creation of the lock's znode is lost, and so is the connection. The lock finds its znode again.
zk.play([{ op: 'create2', path: /^\/locks\/report\//, fault: 'lose-answer' }]);
assert.equal(await sendReport(client, send), 'sent');

// The session expires while the report is being sent. The code learns of it by the signal.
const lost = sendReport(client, async ({ signal }) => {
  const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
  for (const id of zk.sessionIds) zk.expireSession(id);
  await aborted;
  signal.throwIfAborted();
  return 'sent';
});
await assert.rejects(lost, LockLostError);

await client.close();
await other.close();
await zk.stop();
console.log('one at a time, a lost answer, a lost lock: all as expected');
