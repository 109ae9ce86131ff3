// npm run test:versions [-- --only 3.8.6,3.9.5] [test files, or mocha's arguments]: the suites of real servers, on each
// server of lab/servers/versions.ts. ZOOKEEPER_VERSION chooses the server of any other command.
import { bootstrap } from './bootstrap.mjs';
import { close, resultsOf } from './mocha.mjs';
import { lackOfVersion, serverVersions } from './server-versions.mjs';
import { sumOf, wordsOf } from './shards.mjs';
import { comparisons, curatorTests, filesOf, globOf } from './suites.mjs';

const args = process.argv.slice(2);
const at = args.indexOf('--only');
const only = at === -1 ? undefined : args.splice(at, 2)[1]?.split(',');

bootstrap();
delete process.env.ZOOKEEPER_CONNECT;
const results = [];
const suites = filesOf(['contract', 'interop', 'ensemble', 'console'].map(globOf)).filter(
  (file) => file !== curatorTests,
);
for (const version of only ?? serverVersions.map((each) => each.version)) {
  const lack = await lackOfVersion(version);
  const found = lack ? [{ passed: 0, failed: 0, skipped: 1, problems: [], lacks: [lack] }] : await resultsWith(version);
  console.log(`== ZooKeeper ${version}: ${wordsOf(sumOf(found))}${lack ? `: ${lack}` : ''}`);
  results.push(...found);
}
process.exitCode = close(results);

async function resultsWith(version) {
  process.env.ZOOKEEPER_VERSION = version;
  // The embedded server does not imitate all servers.
  const isImitated = serverVersions.find((each) => each.version === version)?.embedded !== undefined;
  const files = suites.filter((file) => isImitated || !comparisons.includes(file));
  const found = await resultsOf(process.execPath, args, files);
  return found.map((each) => ({ ...each, problems: each.problems.map((problem) => `${version}: ${problem}`) }));
}
