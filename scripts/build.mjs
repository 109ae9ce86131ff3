// npm run build: writes dist. Files that src no longer has are deleted, because all of dist is shipped.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './bootstrap.mjs';
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
  const inDist = sideEffects.map((file) => file.replace(/^\.\/dist\//, './'));
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify({ type: 'commonjs', sideEffects: inDist }, null, 2)}\n`);
}
