// npm run chaos:broken [-- part of a name]: checks that chaos fails every broken build of the lock within ten minutes.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { builds as all } from './chaos-broken/builds.mjs';
import { Copy } from './mutants/copy.mjs';
import { passages } from './mutants/passage.mjs';

const limitMs = 10 * 60_000;
const minutesOfRun = 2;

const [part = ''] = process.argv.slice(2);
const builds = all.filter(({ name }) => name.includes(part));
bootstrap();
const temporary = mkdtempSync(join(tmpdir(), 'chaos-broken-'));
process.once('exit', () => rmSync(temporary, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

let problems = builds.length === 0 ? 1 : 0;
for (const build of builds) if (!(await isCaught(build))) problems += 1;
console.log(`${builds.length} broken builds, ${problems} not caught`);
process.exitCode = problems === 0 ? 0 : 1;

/** Runs chaos for two minutes at a time, each time with another seed, until one run fails with a violation. */
async function isCaught({ name, edits, java = 2 }) {
  const stale = edits.filter(({ file, find }) => passages(readFileSync(join(root, file), 'utf8'), find).length !== 1);
  if (stale.length > 0) {
    console.log(`STALE: ${name}: ${stale.map(({ file }) => file).join(', ')}`);
    return false;
  }
  const copy = new Copy(temporary);
  for (const edit of edits) copy.mutate(edit);
  // A build that does not compile breaks every run, which proves nothing.
  const compiled = spawnSync(
    process.execPath,
    [
      join(root, 'node_modules/typescript/bin/tsc'),
      '--noEmit',
      '--noUnusedLocals',
      'false',
      '--noUnusedParameters',
      'false',
      '--project',
      copy.folder,
    ],
    { encoding: 'utf8' },
  );
  if (compiled.status !== 0) {
    console.log(`DOES NOT COMPILE: ${name}\n${compiled.stdout}`);
    return false;
  }
  const startedAt = Date.now();
  while (Date.now() - startedAt < limitMs) {
    const { code, output } = await run(copy.folder, java);
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

function run(folder, java) {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const args = [
    '--import=tsx',
    'chaos/main.ts',
    '--minutes',
    String(minutesOfRun),
    '--seed',
    String(seed),
    '--sticky',
    'off',
    '--java',
    String(java),
    '--out',
    join(folder, 'chaos-results'),
  ];
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    child.once('close', (code) => resolve({ code, output }));
  });
}
