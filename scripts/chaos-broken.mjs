// npm run suite -- chaos-broken [part of a name]: checks that chaos fails every broken build of the lock within ten minutes.
import { join } from 'node:path';
import { builds as all } from '../chaos/broken/builds.mjs';
import { bootstrap } from './bootstrap.mjs';
import { brokenCopy, temporaryFolder } from './mutants/copy.mjs';
import { outcomeOf } from './run.mjs';

const limitMs = 10 * 60_000;
const minutesOfRun = '2';

const [part = ''] = process.argv.slice(2);
const builds = all.filter(({ name }) => name.includes(part));
bootstrap();
const temporary = temporaryFolder('chaos-broken');

let problems = builds.length === 0 ? 1 : 0;
for (const build of builds) if (!(await isCaught(build))) problems += 1;
console.log(`${builds.length} broken builds, ${problems} not caught`);
process.exitCode = problems === 0 ? 0 : 1;

/** Runs chaos for two minutes at a time, each time with another seed, until one run fails with a violation. */
async function isCaught(build) {
  const { name, java = 2 } = build;
  const copy = brokenCopy(build, temporary);
  if (copy === undefined) return false;
  const startedAt = Date.now();
  while (Date.now() - startedAt < limitMs) {
    const { code, output } = await chaos(copy.folder, java);
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
