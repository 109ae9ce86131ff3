// npm run suite -- chaos-broken [part of a name]: checks that chaos fails every broken build of the lock within ten minutes.
import { join } from 'node:path';
import { bootstrap } from './bootstrap.mjs';
import { catchAll } from './mutants/copy.mjs';
import { readBroken } from './mutants/read-broken.mjs';
import { outcomeOf } from './run.mjs';

const limitMs = 10 * 60_000;
const minutesOfRun = '2';
const builds = readBroken(new URL('../chaos/broken/builds.txt', import.meta.url));

bootstrap();
await catchAll(builds, process.argv[2] ?? '', isCaught);

/** Runs chaos for two minutes at a time, each time with another seed, until one run fails with a violation. */
async function isCaught({ name, java = 2 }, folder) {
  const startedAt = Date.now();
  while (Date.now() - startedAt < limitMs) {
    const { code, output } = await chaos(folder, java);
    // The checker's last line. Without it, the run itself has failed.
    const violations = /\d+ violations, seed \d+/.exec(output)?.[0];
    if (code === 1 && violations) {
      console.log(`caught after ${Math.round((Date.now() - startedAt) / 1_000)} s: ${name}: ${violations}`);
      return true;
    }
    if (code !== 0) console.log(output);
  }
  console.log(`NOT CAUGHT: ${name}`);
  return false;
}

function chaos(cwd, java) {
  const options = {
    minutes: minutesOfRun,
    seed: Math.floor(Math.random() * 2 ** 31),
    sticky: 'off',
    java,
    out: join(cwd, 'chaos-results'),
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return outcomeOf(process.execPath, ['--import=tsx', 'chaos/main.ts', ...args], { cwd });
}
