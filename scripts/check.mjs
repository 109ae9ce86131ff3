// npm run check [-- --without-tests]: what can be checked without a server, in under two minutes. Two commands run at a
// time.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { performance } from 'node:perf_hooks';
import { bootstrap, root } from './bootstrap.mjs';

const withoutTests = process.argv.includes('--without-tests');
const checks = [
  'npm run --silent typecheck',
  'npm run --silent lint',
  ...(withoutTests
    ? []
    : ['npm test --silent -- --reporter dot "test/unit/**/*.test.ts" "test/properties/**/*.test.ts"']),
  'npm run --silent api -- --check',
  'npm run --silent format:check',
  'npm run --silent prose',
];

bootstrap();
const left = [...checks];
let failed = 0;
await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
console.log(`${checks.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function work() {
  for (let check = left.shift(); check; check = left.shift()) {
    const startedAt = performance.now();
    const { code, output } = await outcomeOf(check);
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    if (code === 0) console.log(`ok in ${seconds} s: ${check}`);
    else {
      failed += 1;
      console.error(`${output}\nFAILED after ${seconds} s: ${check}`);
    }
  }
}

/** The check's exit code, and all that it printed. */
function outcomeOf(command) {
  const child = spawn(command, { cwd: root, shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
