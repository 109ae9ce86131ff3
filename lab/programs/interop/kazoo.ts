import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installDebianPackages, isCommand } from '../../servers/debian-zookeeper.ts';
import { fetched } from '../../servers/fetched.ts';

/** `debian`, or a version of the Python package index. The gate runs the newest, and the night runs Debian's besides. */
export const kazooVersion = process.env['KAZOO_VERSION'] ?? '2.11.0';

let ensured: Promise<string> | undefined;

/** A python that has kazoo, which is installed if it is missing. Rejects with an AdviceError if that is not possible. */
export function ensureKazoo(): Promise<string> {
  ensured ??= kazooVersion === 'debian' ? kazooOfDebian() : kazooOfPip(kazooVersion);
  return ensured;
}

async function kazooOfDebian(): Promise<string> {
  // Another python3 that is earlier in the path does not find Debian's kazoo.
  const files = ['/usr/bin/python3', '/usr/lib/python3/dist-packages/kazoo'];
  const missing = (): string[] => files.filter((file) => !existsSync(file));
  if (missing().length > 0) await installDebianPackages(['python3-kazoo']);
  if (missing().length > 0) throw new Error(`python3-kazoo is installed, but there is no ${missing().join(', ')}`);
  return '/usr/bin/python3';
}

async function kazooOfPip(version: string): Promise<string> {
  if (!isCommand('python3')) await installDebianPackages(['python3-venv']);
  const folder = await fetched(`kazoo-${version}`, (place) => [
    ['python3', '-m', 'venv', place],
    [join(place, 'bin/python'), '-m', 'pip', 'install', '--quiet', `kazoo==${version}`],
  ]);
  return join(folder, 'bin/python');
}
