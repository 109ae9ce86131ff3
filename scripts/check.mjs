// npm run check [-- --fresh]: what can be checked without running a test, two checks at a time. What each has found is
// kept in .cache, so that the next run reads only what has changed; with --fresh, nothing is kept from earlier runs.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { bootstrap, root } from './bootstrap.mjs';
import { outcomeOf } from './run.mjs';

// The longest first. Without a cache it takes as long as all others, one after another.
const checks = ['lint', 'typecheck', 'format:check', 'api -- --check', 'prose'];

bootstrap();
if (process.argv.includes('--fresh')) rmSync(join(root, '.cache'), { recursive: true, force: true });
const left = checks.map((check) => `npm run --silent ${check}`);
let failed = 0;
await Promise.all([work(), work()]);
console.log(`${checks.length - failed} passed, ${failed} failed in ${(performance.now() / 1_000).toFixed(0)} s`);
process.exitCode = failed === 0 ? 0 : 1;

async function work() {
  for (let check = left.shift(); check; check = left.shift()) {
    const startedAt = performance.now();
    const { code, output } = await outcomeOf(check, [], { cwd: root, shell: true });
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    if (code === 0) console.log(`ok in ${seconds} s: ${check}`);
    else {
      failed += 1;
      console.error(`${output}\nFAILED after ${seconds} s: ${check}`);
    }
  }
}
