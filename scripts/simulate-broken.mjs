// npm run suite -- simulate-broken [part of a name]: checks that the simulation fails every broken build within 1,000 seeds.
// --median 5: goes on until five seeds have failed, and tells the median of the seeds that each of them took.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { bootstrap } from './bootstrap.mjs';
import { catchAll } from './mutants/copy.mjs';
import { builds } from '../simulation/broken/builds.mjs';

const mostSeeds = 1_000;

const { values, positionals } = parseArgs({
  options: { median: { type: 'string', default: '1' } },
  allowPositionals: true,
});
bootstrap();
await catchAll(builds, positionals[0] ?? '', isCaught);

function isCaught({ name }, cwd) {
  const simulation = ['--import=tsx', 'simulation/main.ts', '--stop-at', values.median, '--seeds', `1..${mostSeeds}`];
  const options = { cwd, encoding: 'utf8', maxBuffer: 2 ** 28 };
  const { status, stdout, stderr } = spawnSync(process.execPath, simulation, options);
  const caught = [...stdout.matchAll(/^seed (\d+): (.*)$/gm)];
  const [first] = caught;
  if (status !== 1 || first === undefined) {
    console.log(`NOT CAUGHT: ${name}\n${stdout}${stderr}`);
    return false;
  }
  const [, seed, violation] = first;
  const median = caught.length > 1 ? `, with a median of ${medianGap(caught.map(([, each]) => Number(each)))}` : '';
  console.log(`caught after ${seed} seeds${median}: ${name}: ${violation}`);
  return true;
}

/** The median of the seeds from one that fails to the next. */
function medianGap(seeds) {
  const gaps = seeds.map((seed, index) => seed - (seeds[index - 1] ?? 0)).sort((a, b) => a - b);
  return gaps[Math.floor(gaps.length / 2)];
}
