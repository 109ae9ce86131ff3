import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { bootstrap, root } from './bootstrap.mjs';
import { linesOf } from './mocha.mjs';
import { killGroup, outcomeOf } from './run.mjs';
import { couldRun, sumOf, wordsOf } from './shards.mjs';
import { linesOfTable } from './table.mjs';

const scratch = mkdtempSync(join(tmpdir(), 'steps-'));
const running = new Map(); // the process groups of the running steps, each with a function that prints its output

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
process.once('exit', () => {
  for (const [group, print] of running) {
    killGroup(group);
    print('was ended');
  }
  rmSync(scratch, { recursive: true, force: true });
});

/**
 * Runs lists of steps side by side, the steps of a list one after another, also after a failure. At the end it prints the
 * failures again, because a long log is only kept in part; then a table, and the totals. Resolves with the exit code.
 *
 * @param lists steps of `{ name, command, minutes, env, judge, isNice }`. A step counts as its tests, if it appends to
 *   TEST_TOTALS, or else as one. `minutes` is its limit. `judge` gets the output and returns a problem, or undefined.
 */
export async function runSteps(...lists) {
  bootstrap();
  const rows = [];
  await Promise.all(
    lists.map(async (steps) => {
      for (const step of steps) rows.push(await runStep(step));
    }),
  );
  const sum = sumOf(rows);
  // Here every server can be had, so a skipped test is a test that did not run. Only an old server may lack something.
  const { skipped, lacks } = sumOf(rows.filter(couldRun));
  if (skipped > 0) {
    sum.failed += 1;
    sum.problems.push(`${skipped} tests were skipped: ${lacks.join('; ') || 'no reason given'}`);
  }
  for (const problem of sum.problems) console.log(`FAILED: ${problem}\n`);
  for (const line of linesOfTable(rows)) console.log(line);
  console.log(`${(performance.now() / 60_000).toFixed(1).padStart(6)} min  in all`);
  console.log(wordsOf(sum));
  return sum.failed === 0 ? 0 : 1;
}

/** A clone of the last commit, as a new user gets it. */
export function cloneOfProject() {
  const folder = join(scratchFolder('clone'), 'project');
  git(root, 'clone', '--quiet', root, folder);
  return folder;
}

/** The changed files of a clone, as `git status` lists them. */
export function changesOf(folder) {
  return git(folder, 'status', '--porcelain');
}

function git(cwd, ...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args[0]}: ${stderr}`);
  return stdout;
}

/** A seed that no other run has; every program with seeds accepts it. */
export function freshSeed() {
  return 1 + Math.floor(Math.random() * 2 ** 24);
}

/** A seed that each change has for itself, the same in each run: the gate answers one way about one commit. */
export function seedOfCommit() {
  return 1 + Number.parseInt(git(root, 'rev-parse', 'HEAD^{tree}').slice(0, 6), 16);
}

/** A new folder, for what a step writes. */
export function scratchFolder(name) {
  return mkdtempSync(join(scratch, `${name}-`));
}

async function runStep({ name, command, minutes, env = {}, cwd = root, isNice = false, judge = () => undefined }) {
  const file = join(scratchFolder('totals'), 'totals');
  const startedAt = performance.now();
  const words = isNice && process.platform !== 'win32' ? ['nice', '-n', '10', ...command] : command;
  console.log(`\n== ${name}: begins`);
  const [program, ...args] = words;
  const variables = { ...process.env, ...env, CI: '1', TEST_TOTALS: file };
  const { problem, output } = await withLimit(name, minutes, startedAt, (onStart) =>
    outcomeOf(program, args, { cwd, env: variables, detached: true, onStart }),
  );
  const totals = sumOf(existsSync(file) ? linesOf(file) : []);
  const isCounted = totals.passed + totals.failed + totals.skipped > 0;
  const ownProblem = problem ?? judge(output);
  // The failed tests explain a failed command.
  if (ownProblem !== undefined && totals.failed === 0) {
    totals.failed += 1;
    totals.problems.push(isCounted ? ownProblem : `${ownProblem}\n${output.split('\n').slice(-40).join('\n')}`);
  } else if (!isCounted) totals.passed += 1;
  const problems = totals.problems.map((each) => `${name}: ${each}`);
  const again = [...Object.entries(env).map(([key, value]) => `${key}=${value}`), ...command].join(' ');
  const took = (performance.now() - startedAt) / 60_000;
  console.log(`${totals.failed === 0 ? 'ok' : 'FAILED'}: ${name}: ${wordsOf(totals)}`);
  return { ...totals, problems, name, took, again: again.replaceAll(`${scratch}/`, '/tmp/') };
}

/** Runs the command in a process group of its own, so that none of its children outlives the limit. */
async function withLimit(name, minutes, startedAt, start) {
  let group;
  let isLate = false;
  let tellOutput = () => '';
  // Several steps run at a time, so the output of each is printed as one piece.
  const print = (end) =>
    console.log(
      `\n== ${name}: ${end} after ${((performance.now() - startedAt) / 60_000).toFixed(1)} min\n${tellOutput()}`,
    );
  const timer = setTimeout(() => {
    isLate = true;
    killGroup(group);
  }, minutes * 60_000);
  try {
    const { code, output } = await start((child, soFar) => {
      group = child.pid;
      tellOutput = soFar;
      running.set(group, print);
    });
    const problem = code === 0 ? undefined : `exit code ${code}`;
    return { problem: isLate ? `it did not end within ${minutes} minutes` : problem, output };
  } catch (error) {
    return { problem: error.message, output: tellOutput() };
  } finally {
    clearTimeout(timer);
    running.delete(group);
    print('ended');
  }
}
