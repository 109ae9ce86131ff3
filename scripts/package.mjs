// npm run suite -- package [--night] [mocha's arguments, or test files]: packs the packages as users install them, and tests
// them with this Node. With --night, also with the oldest version of each line of Node, and with the types of each line
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { isEnded, runMocha } from './mocha.mjs';
import { packages } from './packages.mjs';
import { run } from './run.mjs';

// The oldest version of each line that `engines` in package.json allows, and the newest line.
const nodes = ['20.19.0', '22.12.0', '24'];
const folder = mkdtempSync(join(tmpdir(), 'package-'));
const args = process.argv.slice(2).filter((arg) => arg !== '--night');
const isNight = process.argv.includes('--night');

bootstrap();
try {
  process.exitCode = await run(process.execPath, ['scripts/build.mjs'], { cwd: root });
  if (process.exitCode === 0) {
    process.env.PACKAGE_TARBALLS = JSON.stringify(pack());
    process.exitCode = await runTests();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Packs as `npm publish` of .github/workflows/release.yml does. Returns the tarballs by the names of their packages. */
function pack() {
  const npm = spawnSync(
    'npm',
    ['pack', '--json', '--workspaces', '--include-workspace-root', '--ignore-scripts', '--pack-destination', folder],
    { cwd: root, encoding: 'utf8', shell: process.platform === 'win32' },
  );
  if (npm.status !== 0) throw new Error(`npm pack failed:\n${npm.stdout ?? ''}${npm.stderr ?? ''}`);
  const packed = Object.values(JSON.parse(npm.stdout));
  return Object.fromEntries(
    packages.map(({ manifest: { name } }) => [name, join(folder, packed.find((each) => each.name === name).filename)]),
  );
}

/** Continues after a failure, so that one run reports all of them. */
async function runTests() {
  if (isNight) process.env.PACKAGE_NIGHT = '1';
  const codes = [await runMocha(process.execPath, args, ['test/package/*.test.ts'])];
  for (const node of isNight ? nodes : []) {
    if (isEnded()) break;
    codes.push(
      await run(process.execPath, ['scripts/node-versions.mjs', node, 'test/package/consumer.test.ts'], { cwd: root }),
    );
  }
  return codes.find((code) => code !== 0) ?? 0;
}
