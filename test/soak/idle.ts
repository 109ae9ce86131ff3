// npm run soak:idle [-- minutes]: checks that an acquire after a long idle time is as fast as the first one, and that
// the session is still the same.
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { testPath } from '../../harness/test-path.ts';
import { startRealServer } from '../../harness/zookeeper-server.ts';

const minutes = Number(process.argv[2] ?? 60);
await using server = await startRealServer();
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
await new Promise((resolve) => setTimeout(resolve, minutes * 60_000));
const afterIdle = await milliseconds();
const median = warm.sort((a, b) => a - b)[50] ?? NaN;
console.log(
  `first ${first.toFixed(2)} ms, median of the next hundred ${median.toFixed(2)} ms, after ${minutes} idle minutes ${afterIdle.toFixed(2)} ms`,
);
if (client.session.id !== sessionId) {
  console.error('the session has changed');
  process.exitCode = 1;
}
