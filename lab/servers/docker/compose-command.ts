import { spawnSync } from 'node:child_process';
import { isCommand, localFacts } from '../debian-zookeeper.ts';
import { AdviceError } from './advice.ts';
import { ensureCommands } from './debian.ts';

/**
 * The command of Docker Compose: its own, or a part of `docker`. Debian's package is installed if there is neither.
 */
export async function ensureComposeCommand(): Promise<readonly [string, ...string[]]> {
  if (isCommand('docker-compose')) return ['docker-compose'];
  if (
    isCommand('docker') &&
    spawnSync('docker', ['compose', 'version'], { stdio: 'ignore', timeout: 10_000 }).status === 0
  )
    return ['docker', 'compose'];
  const { isDebian, isRoot } = localFacts();
  if (!isDebian || !isRoot)
    throw new AdviceError(
      'There is no Docker Compose: install it, or run this as root on Debian, where it is installed.',
    );
  await ensureCommands('docker-compose');
  return ['docker-compose'];
}
