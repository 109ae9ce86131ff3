// npm run suite -- bench-scale [--clients 1000 --locks 10000 --requests 100 --processes 1,4 --seconds 30 --timeout 10]: what many clients
// and locks cost a server. Prints a table.
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startRealServer } from '../../lab/servers/zookeeper-server.ts';
import { Crowd } from './crowd.ts';
import { levels, requestsOf, type Level } from './levels.ts';
import { costOf } from './server-cost.ts';

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '1000' },
    locks: { type: 'string', default: '10000' },
    requests: { type: 'string', default: '100' },
    processes: { type: 'string', default: '1,4' },
    seconds: { type: 'string', default: '30' },
    timeout: { type: 'string', default: '10' },
    only: { type: 'string', default: '' },
    out: { type: 'string' },
  },
});
const sessionTimeoutMs = Number(values.timeout) * 1_000;
const measuredMs = Number(values.seconds) * 1_000;
const size = {
  clients: Number(values.clients),
  locks: Number(values.locks),
  requestsOfLock: Number(values.requests),
};

const results = [];
console.log(`load before: ${loadavg()[0]?.toFixed(2)}`);
for (const level of levels(values.processes.split(',').map(Number), size)) {
  if (!level.name.includes(values.only)) continue;
  const result = await measured(level);
  results.push(result);
  console.log(row(result));
}
if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(results, undefined, 2)}\n`);

/** Each level has a server of its own, with the JVM and the tick that users run. */
async function measured(level: Level): Promise<Result> {
  await using server = await startRealServer({
    tickTimeMs: 2_000,
    jvm: 'usual',
    config: { globalOutstandingLimit: 10_000 },
  });
  const before = await costOf(server);
  const { clients, processes } = level;
  await using crowd = await Crowd.gather({ connectString: server.connectString, processes, clients, sessionTimeoutMs });
  const startedAt = performance.now();
  await crowd.queueUp(requestsOf(level));
  const queuedUpMs = performance.now() - startedAt;
  // For one session timeout after its last grant a session still counts as active.
  await delay(1.5 * sessionTimeoutMs);
  const [begun, cpu] = [await costOf(server), await crowd.measure()];
  const begunAt = performance.now();
  await delay(measuredMs);
  const [ended, used] = [await costOf(server), await crowd.measure()];
  const tookMs = performance.now() - begunAt;
  const handOvers = level.requestsOfLock > 1 ? await crowd.handOvers(200) : [];
  return {
    ...level,
    queuedUpMs,
    connections: ended.connections,
    znodes: ended.znodes - before.znodes,
    watches: ended.watches,
    dataBytes: ended.snapshotBytes - before.snapshotBytes,
    heapBytes: ended.heapBytes - before.heapBytes,
    transactionsOfTimeout: ((ended.transactions - begun.transactions) * sessionTimeoutMs) / tookMs,
    requestsOfSecond: ((ended.requests - begun.requests) * 1_000) / tookMs,
    clientBytes: used.rssBytes,
    clientCpu: (used.cpuMicros - cpu.cpuMicros) / (tookMs * 1_000),
    handOverMs: [0.5, 0.99].map((share) => quantile(handOvers, share)),
  };
}

interface Result extends Level {
  readonly queuedUpMs: number;
  readonly connections: number;
  readonly znodes: number;
  readonly watches: number;
  readonly dataBytes: number;
  readonly heapBytes: number;
  readonly transactionsOfTimeout: number;
  readonly requestsOfSecond: number;
  readonly clientBytes: number;
  /** The share of one core. */
  readonly clientCpu: number;
  readonly handOverMs: readonly number[];
}

function row(result: Result): string {
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
  return [
    '',
    `${result.name}: ${result.locks} locks × ${result.requestsOfLock}`,
    result.clients,
    result.processes,
    `${(result.queuedUpMs / 1_000).toFixed(1)} s`,
    result.connections,
    result.znodes,
    result.watches,
    megabytes(result.heapBytes),
    megabytes(result.dataBytes),
    result.transactionsOfTimeout.toFixed(1),
    result.requestsOfSecond.toFixed(0),
    megabytes(result.clientBytes),
    `${(result.clientCpu * 100).toFixed(1)} %`,
    result.handOverMs.map((ms) => ms.toFixed(1)).join(' / '),
    '',
  ].join(' | ');
}

function quantile(sample: readonly number[], share: number): number {
  const sorted = [...sample].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
