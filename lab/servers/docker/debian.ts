import { flockAptGet } from '../apt-get.ts';
import { isCommand } from '../debian-zookeeper.ts';
import { command } from './command.ts';

const packages = {
  dockerd: 'docker.io',
  docker: 'docker.io',
  'docker-compose': 'docker-compose',
  debootstrap: 'debootstrap',
} as const;

export type DebianCommand = keyof typeof packages;

const limitMs = 5 * 60_000;

/** Installs Debian's packages of the commands that are missing. */
export async function ensureCommands(...names: DebianCommand[]): Promise<void> {
  const missing = missingPackages(names, isCommand);
  if (missing.length === 0) return;
  console.error(`Installing ${missing.join(' and ')} by apt-get`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of flockAptGet(missing)) await command('flock', args, { limitMs, env });
}

export function missingPackages(names: readonly DebianCommand[], isInstalled: (name: string) => boolean): string[] {
  return [...new Set(names.filter((name) => !isInstalled(name)).map((name) => packages[name]))];
}
