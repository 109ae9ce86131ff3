// npm run check [-- names of checks | --fix | --fresh]: what can be checked without running a test, two checks at a time.
// What most have found is kept in .cache, so that the next run reads only what has changed; with --fresh, nothing is kept
// from earlier runs. --fix writes the format and the public API instead.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { bootstrap, root } from './bootstrap.mjs';
import { outcomeOf } from './run.mjs';

const modules = 'node_modules';
const cacheOf = (name) => ['--cache', '--cache-strategy', 'content', '--cache-location', `.cache/${name}`];
const prettier = `${modules}/prettier/bin/prettier.cjs`;
/** The longest first. */
const checks = {
  // It reads the types anyway, so it checks them, too: by the nearest tsconfig.json of each file.
  'lint-and-types': [`${modules}/oxlint/bin/oxlint`, '-c', 'oxlint.config.mjs', '--type-check'],
  format: [prettier, '--check', '.', ...cacheOf('format')],
  api: ['scripts/api.mjs', '--check'],
  prose: ['scripts/prose.mjs'],
};
const fixes = { format: [prettier, '--write', '.', '--log-level', 'warn'], api: ['scripts/api.mjs'] };

const args = process.argv.slice(2);
const all = args.includes('--fix') ? fixes : checks;
const named = args.filter((arg) => !arg.startsWith('--'));
const unknown = named.filter((name) => !(name in all));
if (unknown.length > 0) {
  console.error(`Expected names of ${Object.keys(all).join(', ')}. Got ${unknown.join(', ')}`);
  process.exit(2);
}

bootstrap();
if (args.includes('--fresh')) rmSync(join(root, '.cache'), { recursive: true, force: true });
const left = named.length > 0 ? [...named] : Object.keys(all);
const count = left.length;
let failed = 0;
await Promise.all([work(), work()]);
console.log(`${count - failed} passed, ${failed} failed in ${(performance.now() / 1_000).toFixed(0)} s`);
process.exitCode = failed === 0 ? 0 : 1;

async function work() {
  for (let name = left.shift(); name; name = left.shift()) {
    const startedAt = performance.now();
    const { code, output } = await outcomeOf(process.execPath, all[name], { cwd: root });
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    if (code === 0) console.log(`ok in ${seconds} s: ${name}`);
    else {
      failed += 1;
      console.error(`${output}\nFAILED after ${seconds} s: ${name}`);
    }
  }
}
