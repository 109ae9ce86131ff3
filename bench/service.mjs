// node --import=tsx bench/service.mjs [--rounds 5] [--seconds 4] [--job 5] [--connections 200] [--keys 20] [--prof folder]:
// the CPU time of an HTTP service for each request, which takes the lock of one of some keys for a job of some milliseconds.
// The same service without a lock, with this library, and with redlock on Redis, each in a process of its own, in turn; this
// process sends the requests. Starts a ZooKeeper and a Redis. Needs `npm run build`. --prof writes a CPU profile of each.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { startRedis } from '../lab/programs/redis-server.ts';
import { startRealServer } from '../lab/servers/zookeeper-server.ts';
import { median } from './cycles.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    job: { type: 'string', default: '5' },
    connections: { type: 'string', default: '200' },
    keys: { type: 'string', default: '20' },
    prof: { type: 'string' },
  },
});
const program = fileURLToPath(new URL('service-process.mjs', import.meta.url));
const zk = await startRealServer({ tickTimeMs: 2_000, jvm: 'usual' });
const redis = await startRedis('everysec');
const addresses = { 'no lock': '', 'zookeeper-fair-lock': zk.connectString, redlock: String(redis.port) };

const services = [];
for (const [peer, address] of Object.entries(addresses)) {
  const execArgv =
    values.prof === undefined
      ? []
      : ['--cpu-prof', '--cpu-prof-dir', values.prof, '--cpu-prof-name', `${peer.replaceAll(' ', '-')}.cpuprofile`];
  const child = fork(program, [peer, address, values.job], { execArgv });
  const [port] = await once(child, 'message');
  services.push({ peer, child, port, runs: [] });
}
for (const service of services) await measure(service, 10); // warms up, and creates the znodes
for (let round = 0; round < Number(values.rounds); round += 1)
  for (let step = 0; step < services.length; step += 1) {
    const service = services[(round + step) % services.length];
    service.runs.push(await measure(service, Number(values.seconds)));
  }

const figure = (runs, name) => median(runs.map((run) => run[name]));
for (const { peer, runs } of services)
  console.log(
    `${peer}: ${figure(runs, 'cpuMicros').toFixed(0)} µs of CPU a request (${runs.map((run) => run.cpuMicros.toFixed(0)).join(', ')}), ` +
      `${figure(runs, 'perSecond').toFixed(0)} requests a second, p50 ${figure(runs, 'p50').toFixed(0)} ms, p99 ${figure(runs, 'p99').toFixed(0)} ms`,
  );
const [none, ours, theirs] = services.map(({ runs }) => runs.map(({ cpuMicros }) => cpuMicros));
console.log(`CPU a request, to redlock: ${median(ours.map((micros, round) => micros / theirs[round])).toFixed(2)}`);
console.log(
  `the same without the service's own: ${median(ours.map((micros, round) => (micros - none[round]) / (theirs[round] - none[round]))).toFixed(2)}`,
);

for (const { child } of services) {
  child.disconnect();
  await once(child, 'exit');
}
await Promise.all([zk.stop(), redis[Symbol.asyncDispose]()]);

/** Sends requests over so many connections for some seconds, each as soon as the one before it was answered. */
async function measure({ child, port }, seconds) {
  const agent = new Agent({ keepAlive: true, maxSockets: Number(values.connections) });
  const took = [];
  const startedAt = performance.now();
  const until = startedAt + seconds * 1_000;
  child.send('begin');
  const connection = async () => {
    while (performance.now() < until) {
      const sentAt = performance.now();
      await get(agent, port, Math.floor(Math.random() * Number(values.keys)));
      took.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: Number(values.connections) }, connection));
  child.send('end');
  const [{ cpuMicros }] = await once(child, 'message');
  const elapsedMs = performance.now() - startedAt;
  agent.destroy();
  took.sort((a, b) => a - b);
  const at = (part) => took[Math.floor(took.length * part)];
  return {
    cpuMicros: cpuMicros / took.length,
    perSecond: (took.length / elapsedMs) * 1_000,
    p50: at(0.5),
    p99: at(0.99),
  };
}

async function get(agent, port, key) {
  const sent = request({ agent, port, host: '127.0.0.1', path: `/orders/${key}` }).end();
  const [answer] = await once(sent, 'response');
  answer.resume();
  await once(answer, 'end');
  if (answer.statusCode !== 200) throw new Error(`Expected 200, got ${answer.statusCode}`);
}
