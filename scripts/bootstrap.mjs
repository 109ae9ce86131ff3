import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Installs the packages of package-lock.json if they are missing. Ends this process if that fails. */
export function bootstrap() {
  if (isInstalled()) return;
  console.log('Installing the dependencies: npm ci');
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: root,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (npm.status === 0) return;
  console.error(`${npm.stdout ?? ''}${npm.stderr ?? ''}${npm.error?.message ?? ''}`);
  process.exit(npm.status || 1);
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
