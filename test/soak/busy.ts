// npm run suite -- soak-busy [minutes]: sessions of 4 s hold locks while other threads keep every core busy. No hold may be
// lost, because no server fails.
import { Worker } from 'node:worker_threads';
import { availableParallelism } from 'node:os';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { testPath } from '../../lab/test-path.ts';
import { startEnsemble } from '../../lab/servers/zookeeper-server.ts';

const minutes = Number(process.argv[2] ?? 10);
const sessionTimeoutMs = 4_000;
await using ensemble = await startEnsemble(3, { tickTimeMs: 500 });
const burners = Array.from({ length: availableParallelism() }, () => new Worker('for (;;);', { eval: true }));
const until = performance.now() + minutes * 60_000;
const losses: string[] = [];
let leastLeftMs = Infinity;
let grants = 0;

const clients = await Promise.all(
  Array.from({ length: 8 }, () => LockClient.connect(ensemble.connectString, { sessionTimeoutMs })),
);
const states: string[] = [];
await Promise.all(
  clients.map(async (client, index) => {
    client.on('state', (state) => states.push(state));
    const mutex = new InterProcessMutex(client, testPath(`busy-${index}`));
    while (performance.now() < until) {
      const hold = await mutex.acquire();
      grants += 1;
      const letGoAt = performance.now() + 5_000;
      while (hold.isValid && performance.now() < letGoAt) {
        leastLeftMs = Math.min(leastLeftMs, client.session.deadline - performance.now());
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      if ((await hold.release()) === 'lost') losses.push((hold.signal.reason as Error).message);
    }
  }),
);
burners.forEach((burner) => void burner.terminate());
await Promise.all(clients.map((client) => client.close()));
console.log(
  `${minutes} minutes, ${clients.length} holders, ${burners.length} busy threads: ${grants} holds, ${losses.length} lost, ${states.filter((state) => state === 'suspended').length} times suspended, at least ${Math.round(leastLeftMs)} ms of deadline left`,
);
if (losses.length > 0) {
  console.error(losses.join('\n'));
  process.exitCode = 1;
}
