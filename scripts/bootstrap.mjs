import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** The packages that the demonstration loads. */
const demoPackages = ['node-zookeeper-client', 'tsx'];

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
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const all = { ...devDependencies, ...dependencies };
  const wanted = Object.fromEntries(demoPackages.map((name) => [name, all[name]]));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: wanted }));
  // npm keeps the versions of this file, and drops the packages that are not wanted.
  copyFileSync(join(root, 'package-lock.json'), join(folder, 'package-lock.json'));
  npm(['install'], folder);
  try {
    renameSync(join(folder, 'node_modules'), installed);
  } catch (error) {
    // Another `npm start` in this folder may have been faster.
    if (!isInstalledInPart()) throw error;
  }
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
