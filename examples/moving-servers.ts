// Servers that get new addresses while a lock is held and waited for. The client asks a function for the list again when it
// reaches no server, and keeps its session. LockClient.create gives a client before any server answers.
import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { LockClient } from 'zookeeper-fair-lock';
import { EmbeddedZooKeeper } from '@zookeeper-fair-lock/testing';

const zk = await EmbeddedZooKeeper.start(); // stands for the servers of production
const [, port] = zk.connectString.split(':');

/** One more address of the server, which can go away. */
const newPlace = async (): Promise<{ readonly address: string; readonly close: () => void }> => {
  const sockets = new Set<Socket>();
  const place: Server = createServer((client) => {
    const server = connect(Number(port), '127.0.0.1');
    for (const socket of [client, server]) sockets.add(socket.on('error', () => undefined));
    client.pipe(server).pipe(client);
  });
  await once(place.listen(0, '127.0.0.1'), 'listening');
  const close = (): void => {
    place.close();
    for (const socket of sockets) socket.destroy();
  };
  return { address: `127.0.0.1:${(place.address() as AddressInfo).port}`, close };
};

let place = await newPlace();
const servers = () => place.address; // in production: a file, or an answer of a registry

const client = LockClient.create(servers, { sessionTimeoutMs: 10_000 }); // a client at once
const other = await LockClient.connect(servers, { sessionTimeoutMs: 10_000 });

const hold = await client.lock('/locks/report', { timeoutMs: 10_000 }); // waits for the first connection
const { sessionId } = client.health();
const waiting = other.lock('/locks/report', { timeoutMs: 30_000 });

const back = new Promise<void>((resolve) => client.on('state', (state) => state === 'reconnected' && resolve()));
const old = place;
place = await newPlace();
old.close();
await back;

assert.equal(client.health().sessionId, sessionId, 'the session goes on');
assert.equal(await hold.release(), 'released');
await (await waiting).release();

await client.close();
await other.close();
place.close();
await zk.stop();
console.log('the servers moved: the hold and the waiter stayed');
