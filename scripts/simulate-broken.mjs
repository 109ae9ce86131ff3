// npm run simulate:broken [-- part of a name]: checks that the simulation fails every broken build within 1,000 seeds.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { Copy } from './mutants/copy.mjs';
import { passages } from './mutants/passage.mjs';
import { builds as all } from './simulate-broken/builds.mjs';

const mostSeeds = 1_000;
const compilerArgs = ['--noEmit', '--noUnusedLocals', 'false', '--noUnusedParameters', 'false', '--project'];

const [part = ''] = process.argv.slice(2);
const builds = all.filter(({ name }) => name.includes(part));
bootstrap();
const temporary = mkdtempSync(join(tmpdir(), 'simulate-broken-'));
process.once('exit', () => rmSync(temporary, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

let problems = builds.length === 0 ? 1 : 0;
for (const build of builds) if (!isCaught(build)) problems += 1;
console.log(`${builds.length} broken builds, ${problems} not caught`);
process.exitCode = problems === 0 ? 0 : 1;

function isCaught({ name, edits }) {
  const stale = edits.filter(({ file, find }) => passages(readFileSync(join(root, file), 'utf8'), find).length !== 1);
  if (stale.length > 0) return failed('STALE', name, stale.map(({ file }) => file).join(', '));
  const copy = new Copy(temporary);
  for (const edit of edits) copy.mutate(edit);
  // A build that does not compile breaks every run, which proves nothing.
  const compiled = run(copy, [join(root, 'node_modules/typescript/bin/tsc'), ...compilerArgs, copy.folder]);
  if (compiled.status !== 0) return failed('DOES NOT COMPILE', name, compiled.stdout);
  const simulation = ['--import=tsx', 'simulation/main.ts', '--stop-at-first', '--seeds', `1..${mostSeeds}`];
  const { status, stdout, stderr } = run(copy, simulation);
  const [, seed, violation] = /^seed ([\d~]+): (.*)$/m.exec(stdout) ?? [];
  if (status !== 1 || seed === undefined) return failed('NOT CAUGHT', name, `${stdout}${stderr}`);
  console.log(`caught after ${seed} seeds: ${name}: ${violation}`);
  return true;
}

function run({ folder }, args) {
  return spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 28 });
}

function failed(how, name, details) {
  console.log(`${how}: ${name}\n${details}`);
  return false;
}
