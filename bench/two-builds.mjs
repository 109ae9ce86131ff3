// node bench/two-builds.mjs OLD NEW [--rounds 10] [--seconds 3] [--only spread]: measures two builds of the package side by
// side in one process, because two processes differ by more than two builds. OLD and NEW are folders with a `dist`. Each
// round runs both builds, in alternating order. Needs a ZooKeeper at ZOOKEEPER_CONNECT.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cycles, median, ratiosText } from './cycles.mjs';

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

const load = (folder) => {
  const require = createRequire(resolve(folder, 'package.json'));
  return require(resolve(folder, require('./package.json').exports['.'].default));
};
const builds = positionals.map((folder) => ({ folder, library: load(folder) }));

// Each owner's lock, how many owners, and how many sessions they share.
const loads = {
  'spread 64': { lock: (owner) => ({ path: `/two-builds/spread-${owner}` }) },
  'threads 64': { lock: () => ({ path: '/two-builds/threads' }) },
  'threads 512': { lock: () => ({ path: '/two-builds/threads' }), owners: 512 },
  'hand-off 64': { lock: () => ({ path: '/two-builds/hand-off' }), sessions: 64 },
  'sticky 64': { lock: () => ({ path: '/two-builds/sticky', options: { sticky: { idleMs: 60_000 } } }) },
};

for (const [name, { lock, owners = 64, sessions = 1 }] of Object.entries(loads)) {
  if (values.only !== undefined && !name.startsWith(values.only)) continue;
  const connectAll = ({ library }) =>
    Promise.all(Array.from({ length: sessions }, () => library.LockClient.connect(connectString)));
  const clients = await Promise.all(builds.map(connectAll));
  const run = (index) =>
    cycles(
      (owner) => {
        const { path, options } = lock(owner);
        return new builds[index].library.InterProcessMutex(clients[index][owner % sessions], path, options);
      },
      seconds,
      owners,
    );
  for (const index of [0, 1]) await run(index); // warms up
  const all = [[], []];
  for (let round = 0; round < rounds; round += 1)
    for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) all[index].push(await run(index));
  for (const unit of ['perSecond', 'perCpuSecond']) {
    const [old, next] = all.map((results) => results.map((result) => result[unit]));
    const ratios = next.map((rate, round) => rate / old[round]);
    const rates = `old ${Math.round(median(old))}, new ${Math.round(median(next))}`;
    console.log(`${name}, cycles ${unit}: ${rates}; ${ratiosText(ratios)}`);
  }
  for (const client of clients.flat()) await client.close();
}
process.exit(0);
