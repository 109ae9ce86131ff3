// npm run build: writes dist, with the manual page of zklock and its bundles. Files that src no longer has are deleted, because all of dist is shipped.
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './bootstrap.mjs';
import { bundleCommand } from './bundle.mjs';
import { run } from './run.mjs';

const dist = join(root, 'dist');
rmSync(dist, { recursive: true, force: true });
process.exitCode = await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
  cwd: root,
});
// The project's own scripts and tests are ES modules. The package is CommonJS, so that `import` and `require` share one
// copy. Some bundlers read `sideEffects` only from the nearest package.json, so it is repeated.
if (process.exitCode === 0) {
  const { sideEffects } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  // The page of the web console is sent to browsers as it is.
  cpSync(join(root, 'src/console/page'), join(dist, 'console/page'), {
    recursive: true,
    filter: (file) => !/\.c?ts$/.test(file),
  });
  const inDist = sideEffects.map((file) => file.replace(/^\.\/dist\//, './'));
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify({ type: 'commonjs', sideEffects: inDist }, null, 2)}\n`);
  await bundleCommand(dist);
  const page = spawnSync(process.execPath, [join(root, 'bin', 'zklock.cjs'), 'man'], { encoding: 'utf8' });
  if (page.status !== 0) throw new Error(`The manual page cannot be made:\n${page.stderr}`);
  writeFileSync(join(dist, 'zklock.1'), page.stdout);
  await buildGuards();
}

/** Its declarations name those of dist. */
async function buildGuards() {
  const built = join(root, 'packages', 'guards', 'dist');
  rmSync(built, { recursive: true, force: true });
  const tsc = ['node_modules/typescript/bin/tsc', '-p', 'packages/guards/tsconfig.build.json'];
  process.exitCode = await run(process.execPath, tsc, { cwd: root });
  writeFileSync(join(built, 'package.json'), `${JSON.stringify({ type: 'commonjs' }, null, 2)}\n`);
}
