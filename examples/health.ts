// Endpoints for an orchestrator such as Kubernetes. Liveness says whether a restart would help; readiness says whether new
// work may arrive. A client that is suspended or has lost its session is not dead: it connects again by itself, while a
// restart would give up its places in the queues, and make an outage of the servers an outage of every process.
import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { InterProcessMutex, LockClient, type ClientHealth } from 'zookeeper-fair-lock';
import { EmbeddedZooKeeper } from '@zookeeper-fair-lock/testing';

/** Only a client that was closed never comes back. (A blocked event loop cannot answer at all, so it fails the probe.) */
const isAlive = ({ state }: ClientHealth): boolean => state !== 'closed';

/** While no server answers, no lock can be acquired, so that new work would only wait. */
const isReady = ({ state }: ClientHealth): boolean => state === 'connected' || state === 'reconnected';

const zk = await EmbeddedZooKeeper.start(); // stands for the servers of production
const client = await LockClient.connect(zk.connectString, { sessionTimeoutMs: 4_000 });

const answer = (response: ServerResponse, isWell: boolean, health: ClientHealth) =>
  response.writeHead(isWell ? 200 : 503, { 'content-type': 'application/json' }).end(JSON.stringify(health));

const server = createServer(({ url }, response) => {
  const health = client.health(); // asks no server, so a probe never waits for ZooKeeper
  if (url === '/live') answer(response, isAlive(health), health);
  else if (url === '/ready') answer(response, isReady(health), health);
  else response.writeHead(404).end();
});
await once(server.listen(0, '127.0.0.1'), 'listening');

const probe = async (path: string): Promise<number> => {
  const { port } = server.address() as AddressInfo;
  return (await fetch(`http://127.0.0.1:${port}${path}`)).status;
};
const reached = (wanted: string): Promise<void> =>
  new Promise((resolve) => client.on('state', (state) => state === wanted && resolve()));

const hold = await new InterProcessMutex(client, '/locks/nightly').acquire();
assert.deepEqual([await probe('/live'), await probe('/ready')], [200, 200]);

const suspended = reached('suspended');
zk.pause(); // the servers do not answer any more
await suspended;
const { held, remainingMs } = client.health();
assert.ok(held === 1 && remainingMs > 0, 'the lock is still held, until the deadline of the session');
assert.deepEqual([await probe('/live'), await probe('/ready')], [200, 503]);

const reconnected = reached('reconnected');
zk.resume();
await reconnected;
assert.deepEqual([await probe('/live'), await probe('/ready')], [200, 200]);
assert.equal(await hold.release(), 'released');

await client.close();
assert.deepEqual([await probe('/live'), await probe('/ready')], [503, 503]);
server.closeAllConnections();
server.close();
await zk.stop();
console.log('suspended: alive, but not ready; the lock was kept');
