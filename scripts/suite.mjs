// npm run suite [-- name [its options, test files, or mocha's arguments]]: a suite that `npm test` leaves out. Without a
// name, their list.
import { bootstrap, root } from './bootstrap.mjs';
import { run } from './run.mjs';

const script = (name, ...args) => ({ command: [`scripts/${name}.mjs`, ...args] });
const program = (file) => ({ command: ['--import=tsx', file] });
/** Tests, of these files if the arguments name none. */
const tests = (glob) => ({ ...script('test'), glob });
const built = (each) => ({ ...each, isBuilt: true });

const suites = {
  faults: { ...tests('test/faults/**/*.test.ts'), what: 'every fault at every request and answer' },
  model: { ...tests('test/model/**/*.test.ts'), what: 'the session clock in thousands of histories' },
  tools: { ...tests('test/tools/**/*.test.ts'), what: 'runs of tests, and what outlives a process' },
  ensemble: { ...tests('test/ensemble/**/*.test.ts'), what: 'three servers: leaders change, links are cut' },
  interop: { ...tests('test/interop/**/*.test.ts'), what: 'Curator, kazoo and Go in the same queues' },
  console: { ...tests('test/console/**/*.test.ts'), what: 'the page of zklock console' },
  guards: { ...tests('packages/guards/test/**/*.test.ts'), what: 'stores that refuse a late writer' },
  cli: { ...built(tests('test/cli/*.test.ts')), what: 'zklock, as built' },
  docs: { ...built(tests('test/docs/*.test.ts')), what: 'each code block of README.md and docs/' },
  examples: { ...built(tests('test/examples/*.test.ts')), what: 'the programs of examples/' },
  package: { ...script('package'), what: 'the packed packages; --night: with more versions of Node' },
  versions: { ...script('versions'), what: 'real servers of other versions; --only 3.8.6,3.9.5' },
  embedded: { ...script('embedded'), what: 'the embedded server beside a real one; --sequences 20000 --seed 1' },
  'embedded-suite': {
    ...program('test/contract/embedded/suite.ts'),
    what: "Curator's own tests on the embedded server",
  },
  tls: { ...script('tls'), what: 'a part of the suites with TLS between clients and servers' },
  kerberos: { ...script('kerberos'), what: 'a KDC, and servers that require Kerberos' },
  containers: { ...script('containers'), what: 'the image of ZooKeeper, alone and as three; --keep-engine' },
  mutants: {
    ...script('mutants'),
    what: 'the most important lines, broken one at a time; part of a name, or --changed',
  },
  'simulate-broken': {
    ...script('simulate-broken'),
    what: 'broken builds that the simulation must find; part of a name',
  },
  'chaos-broken': { ...script('chaos-broken'), what: 'broken builds that chaos must find' },
  coverage: { ...script('coverage'), what: 'what no test of npm test runs' },
  'soak-idle': { ...program('test/soak/idle.ts'), what: 'an hour of idle holds' },
  'soak-busy': { ...program('test/soak/busy.ts'), what: 'a long busy queue' },
  'soak-board': { ...built(program('test/soak/board.ts')), what: 'a board of many locks' },
  'lock-set': {
    ...program('test/soak/lock-set.ts'),
    what: "a set as in Jepsen's tests, while its holders are stopped",
  },
  'bench-tls': { ...built(program('bench/tls.ts')), what: 'the benchmark with TLS' },
  'bench-zklock': { ...built(program('bench/zklock.ts')), what: 'the benchmark of zklock run' },
  'bench-scale': { ...built(program('bench/scale/main.ts')), what: 'the benchmark with many locks and waiters' },
};

const [name, ...args] = process.argv.slice(2);
const suite = Object.hasOwn(suites, name ?? '') ? suites[name] : undefined;

bootstrap();
if (name === undefined)
  for (const [each, { what }] of Object.entries(suites)) console.log(`${each.padEnd(16)} ${what}`);
else if (suite) process.exitCode = await runSuite(suite);
else {
  console.error(`Expected a suite: ${Object.keys(suites).join(', ')}. Got ${name}`);
  process.exitCode = 2;
}

/** Resolves with the exit code. */
async function runSuite({ command, glob, isBuilt = false }) {
  const code = isBuilt ? await run(process.execPath, ['scripts/build.mjs'], { cwd: root }) : 0;
  if (code !== 0) return code;
  const all = glob && !args.some((arg) => arg.endsWith('.ts')) ? [glob] : [];
  return run(process.execPath, [...command, ...all, ...args], { cwd: root });
}
