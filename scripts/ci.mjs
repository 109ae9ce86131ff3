// The gate: what must hold before a change goes in, in at most 20 minutes on two busy cores. Called by .ci/run. The rest is
// in scripts/night.mjs.
import { bootstrap } from './bootstrap.mjs';
import { onRealServer } from './suites.mjs';
import { changesOf, cloneOfProject, runSteps, scratchFolder, seedOfCommit } from './steps.mjs';

const limit = 20; // minutes; on a busy machine a step takes several times as long as on an idle one
const npm = (name, ...args) => ({ name: `npm run ${name}`, command: ['npm', 'run', name, ...args], minutes: limit });
const suite = (name, ...args) => ({ ...npm('suite', '--', name, ...args), name });
const tests = (name, files, env = {}) => ({
  name,
  command: ['node', 'scripts/test.mjs', ...files],
  minutes: limit,
  env,
});

const ensemble = [
  'follower-cut-off',
  'follower-killed',
  'leader-deposed',
  'moved-session',
  'rolling-restart',
  'waiters',
].map((name) => `test/ensemble/${name}.test.ts`);
const interop = ['go', 'mutex', 'other-names'].map((name) => `test/interop/${name}.test.ts`);
/** The part of test/contract that `npm test` leaves out. */
const contract = ['accounts', 'connection', 'embedded', 'lab', 'processes', 'security', 'settings'].map(
  (name) => `test/contract/${name}/**/*.test.ts`,
);

/** Suites that compute, on virtual time. */
const virtual = [
  { name: 'npm test', command: ['npm', 'test'], minutes: limit },
  suite('faults'),
  suite('model'),
  suite('tools'),
  suite('mutants', '--changed'),
  npm('simulate', '--', '--seeds', '1..300', '--all-points', '--out', scratchFolder('fixed')),
  npm('simulate', '--', '--seeds', String(seedOfCommit()), '--minutes', '2', '--out', scratchFolder('fresh')),
];

/** Suites that mostly wait for real servers. */
const real = [
  tests('the rest of test/contract', contract),
  tests('a part of test/behaviour on a real server', onRealServer, { TEST_WORLD: 'real' }),
  tests('a part of test/ensemble', ensemble),
  tests('a part of test/interop: Curator, kazoo and Go', interop),
];

/** Compilers, packages and programs, which leave the processors to the tests. Only these steps use `dist`. */
const programs = [
  npm('check', '--', '--fresh'),
  suite('cli'),
  suite('examples'),
  suite('docs'),
  suite('package'),
  npm('docs'),
  npm('release', '--', '0.1.0', '--dry-run'),
  demonstration(),
].map((step) => ({ ...step, isNice: true }));

bootstrap();
await chooseServer();
process.exitCode = await runSteps(virtual, real, programs);

/** The newest ZooKeeper for all tests with real servers; Debian's where Maven cannot get it. */
async function chooseServer() {
  const { lackOfVersion, newestVersion } = await import('./server-versions.mjs');
  const lack = await lackOfVersion(newestVersion);
  if (lack) console.log(`The servers are Debian's, because ${lack}`);
  else process.env.ZOOKEEPER_VERSION = newestVersion;
}

/**
 * The first steps of a new user: clone and start. The demonstration must end with a table that shows no overlap, and must leave the
 * clone unchanged.
 */
function demonstration() {
  const cwd = cloneOfProject();
  const judge = (output) => {
    if (!/\boverlaps\s+0\b/.test(output)) return 'its table does not say "overlaps 0"';
    const changes = changesOf(cwd);
    return changes === '' ? undefined : `git status of the clone says:\n${changes}`;
  };
  return { name: 'npm start in a fresh clone', command: ['npm', 'start'], minutes: limit, cwd, judge };
}
