// Counts what one acquire and one release enter, in steady state, with the server in another process. Prints JSON.
// HOUSE_COMPILED is the folder of the compiled files, one for each module.
import { createHook } from 'node:async_hooks';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Session } from 'node:inspector/promises';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const compiled = process.env.HOUSE_COMPILED;
const require = createRequire(`${compiled}/`);
if (process.argv[2] === 'server') {
  const server = await require('./packages/testing/src/index.js').EmbeddedZooKeeper.start();
  process.send(server.connectString);
  process.once('disconnect', () => process.exit(0));
} else {
  const server = fork(fileURLToPath(import.meta.url), ['server']);
  const [connectString] = await once(server, 'message');
  const { LockClient, InterProcessMutex } = require('./src/index.js');
  const client = await LockClient.connect(connectString);
  const mutex = new InterProcessMutex(client, '/locks/a');
  const cycle = async () => (await mutex.acquire()).release();
  for (let round = 0; round < 20; round += 1) await cycle();
  let promises = 0;
  const hook = createHook({ init: (_id, type) => (promises += type === 'PROMISE' ? 1 : 0) }).enable();
  await cycle();
  hook.disable();
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await session.post('Profiler.takePreciseCoverage');
  await cycle();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const entered = result
    .filter(({ url }) => url.startsWith(pathToFileURL(compiled).href))
    .map(({ url, functions }) => ({
      file: relative(join(compiled, 'src'), fileURLToPath(url)),
      counts: functions.map(({ ranges }) => ranges[0].count).filter((count) => count > 0),
    }))
    .filter(({ counts }) => counts.length > 0);
  const counts = entered.flatMap((each) => each.counts);
  const calls = counts.reduce((sum, count) => sum + count, 0);
  console.log(JSON.stringify({ files: entered.map(({ file }) => file), functions: counts.length, calls, promises }));
  await client.close();
  server.disconnect();
}
