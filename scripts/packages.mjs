import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './bootstrap.mjs';

/** The packages of this repository, the lock first: the folder of each, and its package.json. */
export const packages = ['.', ...readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)]
  .filter((folder) => existsSync(join(root, folder, 'package.json')))
  .map((folder) => ({ folder, manifest: manifestOf(folder) }));

/** The packages that other programs import. */
export const libraries = packages.filter(({ manifest }) => manifest.types !== undefined);

function manifestOf(folder) {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
}
