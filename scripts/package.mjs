// npm run test:package [-- mocha's arguments, or test files]: packs the package as users install it, and tests it with
// every supported Node
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { runMocha } from './mocha.mjs';
import { run } from './run.mjs';

// The oldest version of each line that `engines` in package.json allows, and the newest line.
const nodes = ['20.19.0', '22.12.0', '24'];
const folder = mkdtempSync(join(tmpdir(), 'package-'));

bootstrap();
try {
  process.env.PACKAGE_TARBALL = pack();
  process.exitCode = await runTests(process.argv.slice(2));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Packs like `npm publish`, including the build. */
function pack() {
  const npm = spawnSync('npm', ['pack', '--pack-destination', folder], {
    cwd: root,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (npm.status !== 0) throw new Error(`npm pack failed:\n${npm.stdout ?? ''}${npm.stderr ?? ''}`);
  const [tarball] = readdirSync(folder);
  return join(folder, tarball);
}

/** Continues after a failure, so that one run reports all of them. */
async function runTests(args) {
  const suites = ['test/package/*.test.ts'];
  if (args.length > 0) return runMocha(process.execPath, args, suites);
  const codes = [await runMocha(process.execPath, args, suites)];
  for (const node of nodes) {
    codes.push(
      await run(process.execPath, ['scripts/node-versions.mjs', node, 'test/package/consumer.test.ts'], { cwd: root }),
    );
  }
  return codes.find((code) => code !== 0) ?? 0;
}
