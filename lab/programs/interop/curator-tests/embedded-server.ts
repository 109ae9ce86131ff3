// An embedded ZooKeeper behind a port that the commands `stop` and `restart` close and open, as a process of its own.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { EmbeddedZooKeeper } from '../../../../packages/testing/src/index.ts';

const [, , ...args] = process.argv;
const [port, containerCheckIntervalMs] = args.map(Number);
const server = await EmbeddedZooKeeper.start({
  tickTimeMs: 500,
  maxSessionTimeoutMs: 60_000,
  containerCheckIntervalMs: containerCheckIntervalMs ?? 60_000,
});
// As Curator's ChaosMonkeyCnxnFactory: the first create of /mylock/… loses its answer, and for 6 s no request is carried out.
let cutByServer = (): void => undefined;
if (args.includes('faults')) {
  const end = server.play([
    { path: /^\/mylock\//, fault: 'lose-answer' },
    { times: Number.MAX_SAFE_INTEGER, fault: 'lose-request' },
  ]);
  cutByServer = () => setTimeout(end, 6_000);
}
const target = Number(server.connectString.split(':')[1]);
const sockets = new Set<Socket>();

const door = createServer((client) => {
  const inner = connect(target, '127.0.0.1');
  for (const socket of [client, inner]) {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (socket === inner && !client.destroyed) cutByServer();
      sockets.delete(socket);
      client.destroy();
      inner.destroy();
    });
  }
  client.pipe(inner).pipe(client);
});

async function open(): Promise<void> {
  door.listen(port, '127.0.0.1');
  await once(door, 'listening');
}

async function shut(): Promise<void> {
  if (!door.listening) return;
  const closed = once(door, 'close');
  door.close();
  for (const socket of sockets) socket.destroy();
  await closed;
}

await open();
console.log('open');
for await (const command of createInterface({ input: process.stdin })) {
  await shut();
  if (command === 'restart') await open();
  console.log(command);
}
process.exit(0);
