// npm run suite -- soak-idle [minutes]: checks that an idle client writes no transaction, and that its session stays the same.
// Prints how long an acquire takes after the idle time.
import { setTimeout as delay } from 'node:timers/promises';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { testPath } from '../../lab/test-path.ts';
import { startRealServer } from '../../lab/servers/zookeeper-server.ts';
import { zxidOf } from '../../lab/wire/zxid.ts';

const minutes = Number(process.argv[2] ?? 60);
// A server that looks for empty containers would delete the parent of the lock, in a transaction of its own.
await using server = await startRealServer({ containerCheckMs: 2 ** 31 - 1 });
await using client = await LockClient.connect(server.connectString, { sessionTimeoutMs: 30_000 });
const mutex = new InterProcessMutex(client, testPath('idle'));
const sessionId = client.session.id;

const milliseconds = async (): Promise<number> => {
  const startedAt = performance.now();
  const hold = await mutex.acquire();
  const tookMs = performance.now() - startedAt;
  await hold.release();
  return tookMs;
};

const first = await milliseconds();
const warm: number[] = [];
for (let round = 0; round < 100; round += 1) warm.push(await milliseconds());
// Heartbeats go on for one session timeout after the last hold.
const activeMs = 1.5 * client.sessionTimeoutMs;
await delay(activeMs);
const before = await zxidOf(server);
await delay(minutes * 60_000 - activeMs);
const written = (await zxidOf(server)) - before;
const afterIdle = await milliseconds();
const median = warm.sort((a, b) => a - b)[50] ?? NaN;
console.log(
  `first ${first.toFixed(2)} ms, median of the next hundred ${median.toFixed(2)} ms, after ${minutes} idle minutes ${afterIdle.toFixed(2)} ms`,
);
if (written > 0n) {
  console.error(`the idle client has written ${written} transactions`);
  process.exitCode = 1;
}
if (client.session.id !== sessionId) {
  console.error('the session has changed');
  process.exitCode = 1;
}
