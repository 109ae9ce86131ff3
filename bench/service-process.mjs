// One service of service.mjs. Arguments: the peer, the address of its server, and the milliseconds of a job. `begin` and
// `end` are answered, at the end, by the CPU time between them.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const [peer, address, jobMs] = process.argv.slice(2);
const job = () => sleep(Number(jobMs));
const locked = await lockOf();
const server = createServer((request, response) => {
  locked(request.url, job).then(
    () => response.end('done'),
    (error) => response.writeHead(500).end(String(error)),
  );
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

let begun;
process.on('message', (what) => {
  if (what === 'begin') return void (begun = process.cpuUsage());
  const { user, system } = process.cpuUsage(begun);
  process.send({ cpuMicros: user + system });
});
process.on('disconnect', () => process.exit(0));
process.send(server.address().port);

/** A function of the path of a request and of its job, which runs the job under the lock of that path. */
async function lockOf() {
  switch (peer) {
    case 'zookeeper-fair-lock': {
      const { LockClient } = await import('../dist/zookeeper-fair-lock.js');
      const client = await LockClient.connect(address);
      return (path, work) => client.withLock(`/locks${path}`, work, { timeoutMs: 30_000 });
    }
    case 'redlock': {
      const [{ Redis }, { default: Redlock }] = await Promise.all([import('ioredis'), import('redlock')]);
      const redlock = new Redlock([new Redis(Number(address), '127.0.0.1')], { retryCount: -1 }); // its default pauses
      return async (path, work) => {
        const lock = await redlock.lock(path, 30_000);
        try {
          await work();
        } finally {
          await lock.unlock();
        }
      };
    }
    default:
      return (_path, work) => work();
  }
}
