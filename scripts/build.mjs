// npm run build: writes the dist of every package, with the manual page of zklock. Files that the sources no longer have
// are deleted, because all of dist is shipped.
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './bootstrap.mjs';
import { bundleCommand, bundleLibrary } from './bundle.mjs';
import { rollUpDeclarations } from './declarations.mjs';
import { libraries, packages } from './packages.mjs';
import { run } from './run.mjs';

const compiled = '.cache/build';
rmSync(join(root, compiled), { recursive: true, force: true });
for (const { folder } of packages) rmSync(join(root, folder, 'dist'), { recursive: true, force: true });
const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', compiled];
process.exitCode = await run(process.execPath, [...tsc, '--emitDeclarationOnly'], { cwd: root });
if (process.exitCode === 0) {
  for (const { folder, manifest } of libraries) {
    await bundleLibrary(folder, manifest);
    // The project's own scripts and tests are ES modules. The packages are CommonJS, so that `import` and `require` share
    // one copy.
    writeFileSync(join(root, folder, 'dist/package.json'), `${JSON.stringify({ type: 'commonjs' }, null, 2)}\n`);
    if (folder === '.') rollUpDeclarations(`${compiled}/src/index.d.ts`, manifest.types);
    else copyDeclarations(folder);
  }
  await buildCommand('packages/zklock');
  await buildGuards();
  for (const { folder } of packages.slice(1)) copyFileSync(join(root, 'LICENSE'), join(root, folder, 'LICENSE'));
}

/** Copies the declarations that the index of a package leads to. What they need of the lock, they import by its name. */
function copyDeclarations(folder, file = 'index.d.ts', copied = new Set()) {
  if (copied.has(file)) return;
  copied.add(file);
  if (file.startsWith('..')) throw new Error(`The types of ${folder} need ${file}, which is no file of the package`);
  const from = join(root, compiled, folder, 'src', file);
  mkdirSync(dirname(join(root, folder, 'dist', file)), { recursive: true });
  copyFileSync(from, join(root, folder, 'dist', file));
  for (const [, path] of readFileSync(from, 'utf8').matchAll(/(?:from|import) ?\(?["'](\.[^"']*)\.js["']/g))
    copyDeclarations(folder, join(dirname(file), `${path}.d.ts`), copied);
}

async function buildCommand(folder) {
  const dist = join(root, folder, 'dist');
  mkdirSync(dist);
  // The page of the web console is sent to browsers as it is.
  cpSync(join(root, folder, 'src/console/page'), join(dist, 'console/page'), {
    recursive: true,
    filter: (file) => !/\.c?ts$/.test(file),
  });
  await bundleCommand(folder);
  const page = spawnSync(process.execPath, [join(root, folder, 'bin/zklock.cjs'), 'man'], { encoding: 'utf8' });
  if (page.status !== 0) throw new Error(`The manual page cannot be made:\n${page.stderr}`);
  writeFileSync(join(dist, 'zklock.1'), page.stdout);
}

/** Its declarations name those of dist. */
async function buildGuards() {
  const tsc = ['node_modules/typescript/bin/tsc', '-p', 'packages/guards/tsconfig.build.json'];
  process.exitCode = await run(process.execPath, tsc, { cwd: root });
  const built = join(root, 'packages/guards/dist');
  writeFileSync(join(built, 'package.json'), `${JSON.stringify({ type: 'commonjs' }, null, 2)}\n`);
}
