// npm run suite -- simulate-broken [part of a name]: checks that the simulation fails every broken build within 1,000 seeds.
// --median 5: goes on until five seeds have failed, and tells the median of the seeds that each of them took.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { bootstrap } from './bootstrap.mjs';
import { brokenCopy, temporaryFolder } from './mutants/copy.mjs';
import { builds as all } from '../simulation/broken/builds.mjs';

const mostSeeds = 1_000;

const { values, positionals } = parseArgs({
  options: { median: { type: 'string', default: '1' } },
  allowPositionals: true,
});
const [part = ''] = positionals;
const builds = all.filter(({ name }) => name.includes(part));
bootstrap();
const temporary = temporaryFolder('simulate-broken');

let problems = builds.length === 0 ? 1 : 0;
for (const build of builds) if (!isCaught(build)) problems += 1;
console.log(`${builds.length} broken builds, ${problems} not caught`);
process.exitCode = problems === 0 ? 0 : 1;

function isCaught(build) {
  const { name } = build;
  const copy = brokenCopy(build, temporary);
  if (copy === undefined) return false;
  const simulation = ['--import=tsx', 'simulation/main.ts', '--stop-at', values.median, '--seeds', `1..${mostSeeds}`];
  const { status, stdout, stderr } = spawnSync(process.execPath, simulation, {
    cwd: copy.folder,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
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
