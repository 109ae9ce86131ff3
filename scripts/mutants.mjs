// npm run test:mutants [-- part of a name]: breaks the most important lines of src, one at a time. The tests that guard
// a line must fail.
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { bootstrap, root } from './bootstrap.mjs';
import { Copy } from './mutants/copy.mjs';
import { mutants as all } from './mutants/list.mjs';
import { passages } from './mutants/passage.mjs';
import { anyOf, runTests } from './mutants/tests.mjs';

const atOnce = 3; // most of a run is spent waiting for servers: two at a time leave a core of two idle
const limitMs = 60_000;
const limitOfAllMs = 420_000;

const [part = ''] = process.argv.slice(2);
const mutants = all.filter(({ name }) => name.includes(part));

bootstrap();
const temporary = mkdtempSync(join(tmpdir(), 'mutants-'));
process.once('exit', () => rmSync(temporary, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

process.exitCode = 1;
const { killed, problems } = await judge();
if (process.env.TEST_TOTALS) {
  appendFileSync(
    process.env.TEST_TOTALS,
    `${JSON.stringify({ suite: 'mutants', passed: killed, failed: problems.length, skipped: 0, problems })}\n`,
  );
}
for (const problem of problems) console.error(`\n${problem}`);
console.log(`\n${killed} killed, ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`);
process.exitCode = problems.length === 0 ? 0 : 1;

async function judge() {
  const stale = mutants.flatMap(staleness);
  if (mutants.length === 0) stale.push(`No mutant has a name with "${part}"`);
  if (stale.length > 0) return { killed: 0, problems: stale };

  const copies = Array.from({ length: atOnce }, () => new Copy(temporary));
  const unmutated = await problemsWithout(copies[0]);
  if (unmutated.length > 0) return { killed: 0, problems: unmutated };

  const problems = [];
  const left = [...mutants];
  await Promise.all(
    copies.map(async (copy) => {
      for (let mutant = left.shift(); mutant; mutant = left.shift()) {
        const problem = await survival(mutant, copy);
        if (problem) problems.push(problem);
      }
    }),
  );
  return { killed: mutants.length - problems.length, problems };
}

/** If the line has been rewritten, nothing shows whether it is still guarded. */
function staleness({ name, file, find }) {
  const times = passages(readFileSync(join(root, file), 'utf8'), find).length;
  return times === 1
    ? []
    : [
        `STALE: ${name}: ${file} has this ${times} times instead of once, so scripts/mutants/list.mjs must be updated:\n${find}`,
      ];
}

/** Tests that fail without a mutation, and tests that do not exist, prove nothing. */
async function problemsWithout(copy) {
  const startedAt = performance.now();
  const files = [...new Set(mutants.flatMap(({ tests }) => tests.files))];
  const { passed, failed, isLate, output } = await runTests(
    { files, grep: anyOf(mutants.flatMap(({ tests }) => tests.named)) },
    { folder: copy.folder, temporary, limitMs: limitOfAllMs },
  );
  console.log(`without a mutation: ${passed.length} tests pass, ${failed.length} fail (${since(startedAt)})`);
  if (isLate) return [`The tests did not end within ${limitOfAllMs / 1_000} s without a mutation:\n${output}`];
  if (failed.length > 0)
    return failed.map(({ error, ...test }) => `Fails without a mutation: ${test.failed}\n${error}`);
  return mutants.flatMap(({ name, tests }) =>
    tests.named
      .filter((text) => !passed.some((test) => test.passed.includes(text)))
      .map((text) => `STALE: ${name}: no test is named "${text}"\n${output}`),
  );
}

/** Returns the reason why the mutant was not killed; undefined if it was killed. */
async function survival(mutant, copy) {
  const startedAt = performance.now();
  const { files, named } = mutant.tests;
  const restore = copy.mutate(mutant);
  const { passed, failed, isLate, code, output } = await runTests(
    { files, grep: anyOf(named), bail: true },
    { folder: copy.folder, temporary, limitMs },
  );
  restore();
  const tell = (outcome, how) => console.log(`${outcome.padEnd(8)} ${mutant.name} (${since(startedAt)}): ${how}`);
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

function since(startedAt) {
  return `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;
}
