// node scripts/node-versions.mjs 24 [mocha's arguments]: runs the tests with another Node, from the npm package `node`
import { spawnSync } from 'node:child_process';
import { bootstrap, root } from './bootstrap.mjs';
import { runMocha } from './mocha.mjs';

const [major = '24', ...args] = process.argv.slice(2);
bootstrap();
const node = nodeBinary(major);
console.log(`Node ${spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim()}`);
process.exitCode = await runMocha(node, args);

/** Called once, so that mocha and its children do not run under npx. */
function nodeBinary(version) {
  const npx = spawnSync('npx', ['-y', '-p', `node@${version}`, 'node', '-p', 'process.execPath'], {
    cwd: root,
    encoding: 'utf8',
  });
  const path = npx.stdout?.trim().split('\n').at(-1);
  if (npx.status === 0 && path) return path;
  console.error(`npx cannot install node@${version}:\n${npx.stderr ?? npx.error?.message}`);
  process.exit(1);
}
