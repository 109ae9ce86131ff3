// npm run suite -- mutants [part of a name | --changed [--since revision]]: breaks the most important lines of src, one at a
// time. The tests that guard a line must fail. With --changed, only the lines of the rooms that have changed, and a sample.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { bootstrap, root } from './bootstrap.mjs';
import { close } from './mocha.mjs';
import { choose } from './mutants/choose.mjs';
import { Copy, temporaryFolder } from './mutants/copy.mjs';
import { mutants as all } from '../test/mutants/list.mjs';
import { passages } from './mutants/passage.mjs';
import { anyOf, runTests } from './mutants/tests.mjs';
import { isVirtual } from './suites.mjs';

const atOnce = 3; // a few tests wait for a real server, which takes no time of a core
const limitMs = 60_000;
const limitOfFileMs = 600_000; // the first run of a test compiles better-sqlite3, which takes minutes
const usualOfTestMs = 60_000; // as in .mocharc.json; on virtual time it costs nothing
const leastOfRealTestMs = 8_000; // a mutated test often waits in vain

// A few minutes on two busy cores.
const ofChange = { most: 40, sample: 20 };
const commitsOfChange = 20;

const {
  values: { changed, since: revision },
  positionals: [part = ''],
} = parseArgs({ options: { changed: { type: 'boolean' }, since: { type: 'string' } }, allowPositionals: true });
const named = all.filter(({ name }) => name.includes(part));
/** Without those whose tests need the servers of other databases. */
const ofGate = named.filter(({ file }) => !file.startsWith('packages/guards/'));
const mutants = changed || revision ? choose(ofGate, changedFiles(revision), ofChange) : named;

bootstrap();
const temporary = temporaryFolder('mutants');

process.exitCode = 1;
const { killed, problems } = await judge();
process.exitCode = close([{ passed: killed, failed: problems.length, skipped: 0, problems }]);

/**
 * The files that differ from the revision, or from where this branch left origin/main. On the main branch, or in a clone
 * without a remote, those of the last commits. A clone without these commits has no changed file, so the sample runs.
 */
function changedFiles(revision) {
  const git = (...args) => {
    const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
    return status === 0 ? stdout.trim() : '';
  };
  const base = git('merge-base', 'HEAD', 'origin/main');
  const isOnBranch = base !== '' && base !== git('rev-parse', 'HEAD');
  const from = revision ?? (isOnBranch ? base : `HEAD~${commitsOfChange}`);
  const files = git('diff', '--name-only', from).split('\n').filter(Boolean);
  console.log(`${files.length} files have changed since ${from}`);
  return files;
}

async function judge() {
  const stale = named.flatMap(staleness);
  if (mutants.length === 0) stale.push(`No mutant has a name with "${part}"`);
  if (stale.length > 0) return { killed: 0, problems: stale };

  const copies = Array.from({ length: atOnce }, () => new Copy(temporary));
  const { problems: unmutated, passed } = await withoutMutation(copies);
  if (unmutated.length > 0) return { killed: 0, problems: unmutated };

  const problems = [];
  await each(copies, mutants, async (mutant, copy) => {
    const problem = await survival(mutant, copy, limitOfItsTestsMs(mutant, passed));
    if (problem) problems.push(problem);
  });
  return { killed: mutants.length - problems.length, problems };
}

/** Does all of the work, one piece at a time in each copy. */
function each(copies, work, doIt) {
  const left = [...work];
  return Promise.all(
    copies.map(async (copy) => {
      for (let piece = left.shift(); piece; piece = left.shift()) await doIt(piece, copy);
    }),
  );
}

/** If the line has been rewritten, nothing shows whether it is still guarded. */
function staleness({ name, file, find }) {
  const times = passages(readFileSync(join(root, file), 'utf8'), find).length;
  return times === 1
    ? []
    : [
        `STALE: ${name}: ${file} has this ${times} times instead of once, so test/mutants/lines must be updated:\n${find}`,
      ];
}

/** Tests that fail without a mutation, and tests that do not exist, prove nothing. */
async function withoutMutation(copies) {
  const startedAt = performance.now();
  const sum = { passed: [], failed: [], problems: [] };
  const files = [...new Set(mutants.flatMap(({ tests }) => tests.files))];
  await each(copies, files, async (file, copy) => {
    const named = mutants.filter(({ tests }) => tests.files.includes(file)).flatMap(({ tests }) => tests.named);
    const { passed, failed, isLate, output } = await runTests(
      { files: [file], grep: anyOf(named) },
      { folder: copy.folder, temporary, limitMs: limitOfFileMs, limitOfTestMs: usualOfTestMs },
    );
    sum.passed.push(...passed);
    sum.failed.push(...failed);
    if (isLate)
      sum.problems.push(`${file} did not end within ${limitOfFileMs / 1_000} s without a mutation:\n${output}`);
    else if (passed.length + failed.length === 0)
      sum.problems.push(`${file} ran no test without a mutation:\n${output}`);
  });
  const { passed, failed } = sum;
  console.log(`without a mutation: ${passed.length} tests pass, ${failed.length} fail (${since(startedAt)})`);
  const unknown = mutants.flatMap(({ name, tests }) =>
    tests.named
      .filter((text) => !passed.some((test) => test.passed.includes(text)))
      .map((text) => `STALE: ${name}: no test is named "${text}"`),
  );
  const failures = failed.map(({ error, ...test }) => `Fails without a mutation: ${test.failed}\n${error}`);
  return { problems: [...sum.problems, ...(failures.length > 0 ? failures : unknown)], passed };
}

/** Returns the reason why the mutant was not killed; undefined if it was killed. */
async function survival(mutant, copy, limitOfTestMs) {
  const startedAt = performance.now();
  const restore = copy.mutate(mutant);
  const { files, named } = mutant.tests;
  const { passed, failed, isLate, code, output } = await runTests(
    { files, grep: anyOf(named), bail: true },
    { folder: copy.folder, temporary, limitMs, limitOfTestMs },
  );
  restore();
  const tell = (outcome, why) => console.log(`${outcome.padEnd(8)} ${mutant.name} (${since(startedAt)}): ${why}`);
  const [first] = failed;
  if (first) tell('killed', first.failed);
  else if (isLate) tell('killed', `not finished after ${limitMs / 1_000} s`);
  else if (code === 0) {
    tell('SURVIVED', `${passed.length} tests pass`);
    return `SURVIVED: ${mutant.name}: ${mutant.file}\n- ${mutant.find}\n+ ${mutant.replace}`;
  } else {
    // The mutation may have ended the tests, or it may not even compile.
    tell('UNCLEAR', 'the tests ended without a failed one');
    return `UNCLEAR: ${mutant.name}: exit code ${code} without a failed test\n${output}`;
  }
  return undefined;
}

/** A test that takes long without a mutation too gets more time, because otherwise its failure would prove nothing. */
function limitOfItsTestsMs({ tests: { files, named } }, passed) {
  if (files.every(isVirtual)) return usualOfTestMs;
  const took = passed.filter((test) => named.some((text) => test.passed.includes(text))).map(({ ms }) => ms);
  return Math.max(leastOfRealTestMs, ...took.map((ms) => 2 * ms));
}

function since(startedAt) {
  return `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;
}
