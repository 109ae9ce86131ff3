// node bench/two-builds.mjs OLD NEW [--rounds 10] [--seconds 3] [--only spread]: measures two builds of the package side by
// side in one process, because two processes differ by more than two builds. OLD and NEW are folders with a `dist`. Each
// round runs both builds, in alternating order. Needs a ZooKeeper at ZOOKEEPER_CONNECT.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cycles, median, owners, ratiosText } from './cycles.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '3' },
    only: { type: 'string' },
  },
});
const connectString = process.env.ZOOKEEPER_CONNECT;
if (positionals.length !== 2 || !connectString)
  throw new Error('Expected two folders with a `dist`, and ZOOKEEPER_CONNECT');
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);

const load = (folder) => createRequire(resolve(folder, 'package.json'))(resolve(folder, 'dist/index.js'));
const builds = positionals.map((folder) => ({ folder, library: load(folder) }));

const loads = {
  spread: (index) => ({ path: `/two-builds/spread-${index}`, options: {} }),
  threads: () => ({ path: '/two-builds/threads', options: {} }),
  sticky: () => ({ path: '/two-builds/sticky', options: { sticky: { idleMs: 60_000 } } }),
};

for (const build of builds) build.client = await build.library.LockClient.connect(connectString);
for (const [name, lockOf] of Object.entries(loads)) {
  if (values.only !== undefined && values.only !== name) continue;
  const run = ({ library, client }) =>
    cycles((owner) => {
      const { path, options } = lockOf(owner);
      return new library.InterProcessMutex(client, path, options);
    }, seconds);
  for (const build of builds) await run(build); // warms up
  const all = [[], []];
  for (let round = 0; round < rounds; round += 1)
    for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) all[index].push(await run(builds[index]));
  for (const unit of ['perSecond', 'perCpuSecond']) {
    const [old, next] = all.map((results) => results.map((result) => result[unit]));
    const ratios = next.map((rate, round) => rate / old[round]);
    const rates = `old ${Math.round(median(old))}, new ${Math.round(median(next))}`;
    console.log(`${name} ${owners}, cycles ${unit}: ${rates}; ${ratiosText(ratios)}`);
  }
}
for (const { client } of builds) await client.close();
process.exit(0);
