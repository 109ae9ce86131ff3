// Runs every check, on a bare machine. Called by .ci/run. At the end it repeats all failures, and prints the totals.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { bootstrap } from './bootstrap.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const limitMs = 40 * 60_000; // on a busy machine a step takes twice as long
const scratch = mkdtempSync(join(tmpdir(), 'ci-'));
const sum = { passed: 0, failed: 0, skipped: 0 };
const minutes = []; // one entry per step
const failures = []; // printed again at the end, because a log of a hundred thousand lines is only kept in part
const running = new Map(); // the process groups of the running steps, each with a function that prints its output

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
process.once('exit', () => {
  for (const [group, print] of running) {
    killGroup(group);
    print('was ended');
  }
  rmSync(scratch, { recursive: true, force: true });
});

try {
  bootstrap();
  await Promise.all([lane(testsOfServers), lane(buildsAndPackages)]);
} catch (error) {
  count('the run itself', false, error.stack);
}
// Here every server can be had, so a skipped test is a test that did not run.
if (sum.skipped > 0) count('no test is skipped', false, `${sum.skipped} were skipped`);
process.exitCode = sum.failed === 0 ? 0 : 1;
for (const failure of failures) console.log(`${failure}\n`);
for (const { name, took } of minutes) console.log(`${took.toFixed(1).padStart(5)} min  ${name}`);
console.log(`${(performance.now() / 60_000).toFixed(1).padStart(5)} min  in all`);
console.log(`${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped`);

/** One of two lists of steps that run side by side. */
async function lane(steps) {
  try {
    await steps();
  } catch (error) {
    count(`the rest of ${steps.name}`, false, error.stack);
  }
}

/** Tests that watch the time, or load a server: one after another. Most of their time they wait for a server. */
async function testsOfServers() {
  const coverage = join(scratch, 'coverage');
  await suite('npm test', 'npm', ['test'], { NODE_V8_COVERAGE: coverage });
  await suite('npm run test:console', 'npm', ['run', 'test:console'], { NODE_V8_COVERAGE: coverage });
  await step('the coverage of both', process.execPath, [
    'node_modules/c8/bin/c8.js',
    'report',
    '--temp-directory',
    coverage,
  ]);
  await suite('npm run test:faults', 'npm', ['run', 'test:faults']);
  await suite('npm run test:ensemble', 'npm', ['run', 'test:ensemble']);
  await step('npm run chaos', 'npm', ['run', 'chaos', '--', '--minutes', '2', '--out', join(scratch, 'chaos')]);
  // It keeps both processors busy. Of the other list only compilers and programs are left by now.
  await suite('npm run test:mutants', 'npm', ['run', 'test:mutants']);
}

/**
 * First further tests that watch the time, then compilers, packages and programs, beside the tests of servers, which
 * have the processors first. Only these steps use `dist`, one after another.
 */
async function buildsAndPackages() {
  const npm = (...args) => ['nice', ['-n', '10', 'npm', ...args]];
  await suite('the tests on Node 24', process.execPath, ['scripts/node-versions.mjs', '24'], {
    TEST_SERVERS: 'embedded',
  });
  await suite('npm run test:containers', 'npm', ['run', 'test:containers']);
  await suite('npm run test:interop', 'npm', ['run', 'test:interop']);
  await suite('npm run test:cli', 'npm', ['run', 'test:cli']);
  await suite('npm run test:tls', 'npm', ['run', 'test:tls']);
  await suite('npm run test:embedded', ...npm('run', 'test:embedded'));
  await suite('npm run test:examples', ...npm('run', 'test:examples'));
  await suite('npm run test:docs', ...npm('run', 'test:docs'));
  await suite('npm run test:package', ...npm('run', 'test:package'));
  // The tests of npm run check are part of npm test.
  await step('npm run check -- --without-tests', ...npm('run', 'check', '--', '--without-tests'));
  await step('npm run release -- 0.1.0 --dry-run', ...npm('run', 'release', '--', '0.1.0', '--dry-run'));
  await step('npm run docs', ...npm('run', 'docs'));
  const simulated = join(scratch, 'simulated');
  await step('npm run simulate', ...npm('run', 'simulate', '--', '--minutes', '3', '--out', simulated));
  await demonstration();
  await step('npm run bench -- --brief', ...npm('run', 'bench', '--', '--brief'));
}

/** Counts each test. Counts one more failure if mocha failed without a failed test. */
async function suite(name, command, args, env = {}) {
  const file = join(mkdtempSync(join(scratch, 'suite-')), 'totals');
  const { problem } = await execute(name, command, args, { env: { ...process.env, ...env, TEST_TOTALS: file } });
  const totals = existsSync(file)
    ? readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    : [];
  for (const { passed, failed, skipped, problems } of totals) {
    sum.passed += passed;
    sum.failed += failed;
    sum.skipped += skipped;
    failures.push(...problems.map((each) => `FAILED: ${name}: ${each}`));
  }
  const failed = totals.reduce((all, each) => all + each.failed, 0);
  if (totals.length === 0) count(name, false, problem ?? 'it ended without totals');
  else if (problem !== undefined && failed === 0) count(name, false, problem);
}

/** Counts the step as one test. */
async function step(name, command, args) {
  const { problem, output } = await execute(name, command, args);
  count(name, problem === undefined, `${problem}\n${output.split('\n').slice(-40).join('\n')}`);
}

/**
 * Does what a new user does: clone and start. The demonstration must end with a table that shows no overlap, and must
 * leave the clone unchanged.
 */
async function demonstration() {
  const name = 'npm start in a fresh clone';
  const clone = join(scratch, 'clone');
  const cloned = await execute('git clone', 'git', ['clone', '--quiet', root, clone]);
  if (cloned.problem !== undefined) return count(name, false, cloned.problem);
  const { problem, output } = await execute(name, 'npm', ['start'], { cwd: clone });
  const status = spawnSync('git', ['status', '--porcelain'], { cwd: clone, encoding: 'utf8' });
  const dirt = status.status === 0 ? status.stdout : status.stderr;
  if (problem !== undefined) count(name, false, problem);
  else if (!/\boverlaps\s+0\b/.test(output)) count(name, false, 'its table does not say "overlaps 0"');
  else count(name, dirt === '', `git status of the clone says:\n${dirt}`);
}

function count(name, passed, problem) {
  if (passed) sum.passed++;
  else {
    sum.failed++;
    failures.push(`FAILED: ${name}: ${problem}`);
  }
  console.log(passed ? `ok: ${name}` : failures.at(-1));
}

/** Runs the command in a process group of its own, so that none of its children outlives the limit. */
function execute(name, command, args, options = {}) {
  console.log(`\n== ${name}: begins`);
  const startedAt = performance.now();
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], ...options, detached: true });
  let output = '';
  // Two steps run at a time, so the output of each is printed as one piece.
  const print = (end) =>
    console.log(`\n== ${name}: ${end} after ${((performance.now() - startedAt) / 60_000).toFixed(1)} min\n${output}`);
  running.set(child.pid, print);
  let late = false;
  for (const stream of ['stdout', 'stderr']) {
    child[stream].setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  const timer = setTimeout(() => {
    late = true;
    killGroup(child.pid);
  }, limitMs);
  return new Promise((resolve) => {
    const settle = (problem) => {
      clearTimeout(timer);
      running.delete(child.pid);
      minutes.push({ name, took: (performance.now() - startedAt) / 60_000 });
      print('ended');
      resolve({ problem: late ? `it did not end within ${limitMs / 60_000} minutes` : problem, output });
    };
    child.once('error', (error) => settle(error.message));
    child.once('close', (code, signal) => settle(code === 0 ? undefined : `exit code ${code ?? signal}`));
  });
}

function killGroup(group) {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // the process has just ended
  }
}
