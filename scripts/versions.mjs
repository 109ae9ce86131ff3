// npm run test:versions [-- --only 3.8.6,3.9.5] [test files, or mocha's arguments]: the suites of real servers, on each
// server of lab/servers/versions.ts. ZOOKEEPER_VERSION chooses the server of any other command.
import { bootstrap } from './bootstrap.mjs';
import { close, isEnded, resultsOf } from './mocha.mjs';
import { sumOf, wordsOf } from './shards.mjs';
import { comparisons, curatorTests, filesOf, globOf } from './suites.mjs';

bootstrap();
const { chosenVersion, lackOfVersion, serverVersions } = await import('./server-versions.mjs');
const args = process.argv.slice(2);
const at = args.indexOf('--only');
const only = at === -1 ? undefined : (args.splice(at, 2)[1] ?? '').split(',');
// Else a slip of the pen would be a skipped test, or run all versions for hours.
for (const version of only ?? []) chosenVersion({ ZOOKEEPER_VERSION: version });

delete process.env.ZOOKEEPER_CONNECT;
const results = [];
const suites = filesOf(['contract', 'interop', 'ensemble', 'console'].map(globOf)).filter(
  (file) => file !== curatorTests,
);
const versions = only ?? serverVersions.map((each) => each.version);
refuseComparisons();
for (const version of versions) {
  if (isEnded()) break;
  const lack = await lackOfVersion(version);
  const found = lack ? [{ passed: 0, failed: 0, skipped: 1, problems: [], lacks: [lack] }] : await resultsWith(version);
  console.log(`== ZooKeeper ${version}: ${wordsOf(sumOf(found))}${lack ? `: ${lack}` : ''}`);
  results.push(...found);
}
process.exitCode = close(results);

async function resultsWith(version) {
  process.env.ZOOKEEPER_VERSION = version;
  const files = suites.filter((file) => isImitated(version) || !comparisons.includes(file));
  const found = await resultsOf(process.execPath, args, files);
  return found.map((each) => ({ ...each, problems: each.problems.map((problem) => `${version}: ${problem}`) }));
}

/** The embedded server does not imitate all servers. */
function isImitated(version) {
  return serverVersions.find((each) => each.version === version)?.embedded !== undefined;
}

/** A named file runs with each version, so ends the process if it compares with one that is not imitated. */
function refuseComparisons() {
  const file = filesOf(args.filter((arg) => arg.endsWith('.ts'))).find((each) => comparisons.includes(each));
  const others = versions.filter((version) => !isImitated(version));
  if (file === undefined || others.length === 0) return;
  const imitated = serverVersions.map((each) => each.version).filter(isImitated);
  console.error(
    `${file} compares the embedded server with those that it imitates (--only ${imitated}), got ${others.join(', ')}`,
  );
  process.exit(2);
}
