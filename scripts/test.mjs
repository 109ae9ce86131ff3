// npm test [-- test files and folders, or mocha's arguments] [--world real] [--verbose]: the fast suites, and a part of the contract with a real server.
// With --world real, only the tests of behaviour for both worlds, on a real server.
import { statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { close, resultsOf, runMocha } from './mocha.mjs';
import { sumOf } from './shards.mjs';
import { behaviourOfBothWorlds, contract, fastSuites, filesOf, globOf } from './suites.mjs';

const isFolder = (arg) => statSync(arg, { throwIfNoEntry: false })?.isDirectory() === true;
const isMeantAsOne = (arg, before = '') => /^(\.\/)?test\/.*(?<!\.ts)$/.test(arg) && !/^-(?!-verbose$)/.test(before);
const args = process.argv
  .slice(2)
  .flatMap((arg, index, all) => (isFolder(arg) || isMeantAsOne(arg, all[index - 1]) ? testsIn(arg) : [arg]));
const at = args.indexOf('--world');
if (at !== -1) [, process.env.TEST_WORLD] = args.splice(at, 2);
const { TEST_WORLD: world = 'virtual' } = process.env;
if (world !== 'virtual' && world !== 'real') {
  console.error(`Expected --world to be virtual or real, got ${world}`);
  process.exit(2);
}
// The virtual world is that of the suites that are made for it.
if (world === 'virtual') delete process.env.TEST_WORLD;

bootstrap();
const isNamed = args.some((arg) => arg.endsWith('.ts'));
if (isNamed || world === 'real') process.exitCode = await runMocha(process.execPath, args, behaviourOfBothWorlds());
else process.exitCode = close((await Promise.all([fast(), withRealServer()])).flat());

/** @returns the test files of the folder; the whole suite must not run in their place */
function testsIn(folder) {
  const files = filesOf([`${relative(root, resolve(folder))}/**/*.test.ts`]);
  if (files.length > 0) return files;
  console.error(`Expected a folder with tests, got ${folder}`);
  process.exit(2);
}

function fast() {
  return resultsOf(process.execPath, args, fastSuites.map(globOf));
}

/** They mostly wait, so they run beside the fast suites. Where no real server can be had, they count as skipped. */
async function withRealServer() {
  // A copy of the project may leave them out, but the gate may not.
  if (filesOf(contract).length === 0 && !process.env.CI) return [];
  const lack = await lackOfServer();
  if (lack === undefined) return resultsOf(process.execPath, args, contract);
  const dryRun = await resultsOf(process.execPath, [...args, '--dry-run'], contract);
  const { passed, failed, skipped, problems } = sumOf(dryRun);
  const left = passed + skipped;
  const lacks = [`${left} of test/contract, because there is no real server. ${lack}`];
  return [{ passed: 0, failed, skipped: left, problems, lacks }];
}

/** Says what the machine lacks; undefined if a real ZooKeeper can be had. */
async function lackOfServer() {
  const { register } = await import('tsx/esm/api');
  register();
  const { lackOfZooKeeper } = await import('../lab/servers/find-zookeeper.ts');
  return lackOfZooKeeper();
}
