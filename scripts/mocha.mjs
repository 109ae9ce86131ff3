import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { root } from './bootstrap.mjs';
import { outcomeOf } from './run.mjs';
import { deal, sumOf, wordsOf } from './shards.mjs';
import { fastSuites, filesOf, globOf, isVirtual, suiteOf, weightOf } from './suites.mjs';

// Twice the processors: some tests wait, and other programs may keep the processors busy.
const atOnce = 2 * Math.max(2, availableParallelism());
const splitSuites = [...fastSuites, 'faults'];

/**
 * Runs `suites`, or only the test files in `args` if there are any, with the given Node. Prints a line for each process and
 * the failures; or all that mocha prints, with `--verbose` or for a single file. Resolves with the exit code.
 */
export async function runMocha(node, args, suites = fastSuites.map(globOf)) {
  return close(await resultsOf(node, args, suites));
}

/** The signal after which no further file runs. The process itself ends when its callers have cleaned up. */
let endedBy;

/** True if a signal has ended the run: then callers begin nothing more. */
export const isEnded = () => endedBy !== undefined;

/** Runs them, and resolves with a result of each file. */
export async function resultsOf(node, args, suites) {
  const isVerbose = args.includes('--verbose');
  const named = args.filter((arg) => arg.endsWith('.ts'));
  const options = args.filter((arg) => !arg.endsWith('.ts') && arg !== '--verbose');
  const files = filesOf(named.length > 0 ? named : suites);
  if (files.length === 0) return [failureOf(`no test file: ${suites.join(', ')}`)];
  const isAlone = named.length > 0 && files.length === 1;
  const jobs = isAlone ? [files] : jobsOf(files);
  const results = [];
  const end = (signal) => {
    endedBy = signal;
    jobs.length = 0;
  };
  if (endedBy) end(endedBy);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, end);
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let job = jobs.shift(); job; job = jobs.shift()) {
        const startedAt = performance.now();
        const { output, results: found } = await mocha(node, job, options, { isAlone, isVerbose });
        const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
        results.push(...found);
        if (isAlone || options.includes('--dry-run')) continue;
        const suitesOfJob = [...new Set(job.map(suiteOf))].join(', ');
        const what = job.length === 1 ? '1 file' : `${job.length} files`;
        console.log(`${wordsOf(sumOf(found))} in ${seconds} s: ${what} of ${suitesOfJob}`);
        for (const { file, failed, output: text } of found)
          if (failed > 0 && text) console.log(`== ${file || 'the process'} printed:\n${text}`);
        if (output && (isVerbose || sumOf(found).failed > 0)) console.log(output);
      }
    }),
  );
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, end);
  if (endedBy) results.push(failureOf(`${endedBy} ended the run`));
  return results;
}

/** Prints the failures and the totals, and appends them to TEST_TOTALS as a JSON line. Returns the exit code. */
export function close(results) {
  const sum = sumOf(results);
  if (sum.passed + sum.failed + sum.skipped === 0) {
    sum.failed += 1;
    sum.problems.push('no test ran');
  }
  const { TEST_TOTALS } = process.env;
  if (TEST_TOTALS) appendFileSync(TEST_TOTALS, `${JSON.stringify(sum)}\n`);
  for (const problem of sum.problems) console.log(`\nFAILED: ${problem}`);
  console.log(`\n${wordsOf(sum)} in ${(performance.now() / 1_000).toFixed(0)} s`);
  if (sum.skipped > 0) for (const lack of sum.lacks) console.log(`Skipped tests: ${lack}`);
  if (endedBy) return 128 + constants.signals[endedBy];
  return sum.failed === 0 ? 0 : 1;
}

/**
 * The files of each process. The two worlds never share one. Two lists for each process that runs at a time, because the
 * size of a file says little about its time. A suite of real servers has a process of its own, because it loads them.
 */
function jobsOf(files) {
  if (process.env.TEST_WORLD === 'real') {
    const isContract = (file) => suiteOf(file) === 'contract';
    // Each list shares a server.
    return [files.filter(isContract), files.filter((file) => !isContract(file))].filter((list) => list.length > 0);
  }
  const split = files.filter((file) => splitSuites.includes(suiteOf(file)));
  const virtual = split.filter(isVirtual);
  const others = files.filter((file) => !split.includes(file));
  const native = split.filter((file) => !virtual.includes(file));
  // Native tests mostly wait, and virtual ones compute: so both run from the beginning.
  const [first = [], ...later] = deal(native, weightOf, atOnce - 1);
  const [computing = [], ...more] = deal(virtual, weightOf, atOnce);
  return [first, computing, ...later, ...more, others].filter((list) => list.length > 0);
}

async function mocha(node, files, options, { isAlone, isVerbose }) {
  const folder = mkdtempSync(join(tmpdir(), 'mocha-'));
  const file = join(folder, 'results');
  try {
    const { code, output } = await outcomeOf(
      node,
      ['node_modules/mocha/bin/mocha.js', ...options, '--reporter', 'scripts/reporter.mjs', ...files],
      {
        cwd: root,
        // mocha.js runs the tests in a child, which it ends at this signal only.
        endWith: 'SIGINT',
        env: {
          ...process.env,
          ...(files.every(isVirtual) ? { TEST_WORLD: 'virtual' } : {}),
          TEST_RESULTS: file,
          TEST_TOTALS: '', // of this run, and not of one that a test starts
          TEST_REPORT: isAlone || isVerbose ? 'spec' : '',
        },
        ...(isAlone ? { stdio: 'inherit' } : {}),
      },
    );
    const results = existsSync(file) ? linesOf(file) : [];
    const isExplained = code === 0 || sumOf(results).failed > 0;
    if (!isExplained) results.push(failureOf(`mocha ended with ${code} without a failed test: ${files.join(' ')}`));
    else if (!results.some(({ isComplete }) => isComplete))
      results.push(failureOf(`a test ended the process: not all of these ran: ${files.join(' ')}`));
    return { output, results };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function failureOf(problem) {
  return { file: '', passed: 0, failed: 1, skipped: 0, problems: [problem] };
}

/** The JSON lines of a file. */
export function linesOf(file) {
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
