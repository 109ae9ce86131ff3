import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** The packages that the demonstration needs: the library's only one, and the one that translates TypeScript. */
const demoPackages = ['node-zookeeper-client', 'esbuild'];

/** Installs the packages of package-lock.json if they are missing. Ends this process if that fails. */
export function bootstrap() {
  if (isInstalled()) return;
  console.log('Installing the dependencies: npm ci');
  npm(['ci'], root);
}

/**
 * Installs only the packages that the demonstration loads, if there are none yet: this takes a few seconds, and all
 * packages take half a minute. Ends this process if that fails.
 */
export function bootstrapDemo() {
  const installed = join(root, 'node_modules');
  if (existsSync(installed)) {
    if (!isInstalledInPart()) bootstrap();
    return;
  }
  console.log(`Installing ${demoPackages.join(' and ')}`);
  const folder = mkdtempSync(join(root, 'node_modules.'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const { lockfileVersion, packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const project = {
    dependencies: Object.fromEntries(demoPackages.map((name) => [name, versionOf(packages[''], name)])),
  };
  // With a lock of all packages, npm would need two seconds more to find out which ones it has to leave out.
  const lock = { lockfileVersion, packages: { '': project, ...neededBy(project, packages) } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(project));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
  npm(['ci', '--ignore-scripts'], folder);
  try {
    renameSync(join(folder, 'node_modules'), installed);
  } catch (error) {
    // Another `npm start` in this folder may have been faster.
    if (!isInstalledInPart()) throw error;
  }
}

/** The version range of a package that the project asks for. */
function versionOf({ dependencies, devDependencies }, name) {
  return dependencies[name] ?? devDependencies[name];
}

/** The entries of the lock for all packages that `one` needs, and that those need. */
function neededBy(one, packages) {
  const needed = {};
  const add = ({ dependencies, optionalDependencies }) => {
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const path = `node_modules/${name}`;
      if (path in needed) continue;
      needed[path] = packages[path];
      add(packages[path]);
    }
  };
  add(one);
  return needed;
}

function npm(args, cwd) {
  const { status, stdout, stderr, error } = spawnSync('npm', [...args, '--no-audit', '--no-fund'], {
    cwd,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (status === 0) return;
  console.error(`${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`);
  process.exit(status || 1);
}

/** Returns true if the packages of the demonstration are there, in the versions of package-lock.json. */
function isInstalledInPart() {
  const installed = packagesOf('node_modules/.package-lock.json') ?? {};
  const wanted = packagesOf('package-lock.json') ?? {};
  const isThere = demoPackages.every((name) => `node_modules/${name}` in installed);
  return isThere && Object.keys(installed).every((name) => isSame(installed[name], wanted[name]));
}

/** Compares contents, because a checkout or a copy can give files any time. */
function isInstalled() {
  const installed = packagesOf('node_modules/.package-lock.json');
  const wanted = packagesOf('package-lock.json');
  if (installed === undefined || wanted === undefined) return false;
  const names = new Set([...Object.keys(installed), ...Object.keys(wanted)]);
  names.delete(''); // the project itself, which npm does not install
  return [...names].every((name) => isSame(installed[name], wanted[name]));
}

function isSame(installed, wanted) {
  if (installed === undefined) return wanted.optional === true; // an optional package for another platform
  return installed.version === wanted?.version && installed.integrity === wanted.integrity;
}

function packagesOf(file) {
  const path = `${root}/${file}`;
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : undefined;
}
