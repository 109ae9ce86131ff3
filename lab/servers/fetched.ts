import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isCommand, run } from './debian-zookeeper.ts';

/** Half of the time that a suite has for all that it installs. */
const usualLimitMs = 120_000;

/** The folder that `fetched` fills. It is in the user's cache, so that every checkout shares it. */
export function placeOf(name: string): string {
  const { XDG_CACHE_HOME: cache = join(homedir(), '.cache') } = process.env;
  return join(cache, 'zookeeper-fair-lock', name);
}

/**
 * A folder with what a package registry serves. The first call on this machine fills it by `commands`, which get the
 * path of an empty folder. Rejects with an AdviceError if a command fails.
 */
export async function fetched(
  name: string,
  commands: (place: string) => readonly string[][],
  limitMs = usualLimitMs,
): Promise<string> {
  const folder = placeOf(name);
  if (existsSync(folder)) return folder;
  console.error(`Fetching ${name} into ${folder}`);
  mkdirSync(dirname(folder), { recursive: true });
  const place = mkdtempSync(`${folder}.`);
  try {
    for (const [command = '', ...args] of commands(place)) await inTurn(command, args, limitMs);
    renameSync(place, folder);
  } catch (error) {
    // Another run may have filled it at the same time.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
  return folder;
}

/** Two test runs side by side take turns, because they share the caches of Maven and of pip. */
function inTurn(command: string, args: readonly string[], limitMs: number): Promise<void> {
  if (!isCommand('flock')) return run(command, args, limitMs);
  return run('flock', ['--close', join(tmpdir(), 'zookeeper-fair-lock-fetch.lock'), command, ...args], limitMs);
}
