import { spawnSync } from 'node:child_process';
import { until } from '../../../lab/until.ts';
import { allProcesses, wordsOf } from './processes.ts';

/** True if the kernel can be asked to continue a stopped watchdog when its parent ends. */
export const hasParentDeathSignal = spawnSync('setpriv', ['--pdeathsig', 'CONT', 'true']).status === 0;

/** Resolves with the process id of the watchdog of this process, when it has begun. Linux only. */
export async function watchdogOf(parent: number): Promise<number> {
  let found = 0;
  await until('the watchdog has begun', () => {
    for (const { pid, parent: its } of allProcesses()) if (its === parent && hasBegun(wordsOf(pid))) found = pid;
    return found > 0;
  });
  return found;
}

/** With `setpriv`, a first shell becomes a second one, which has no argument after its name. */
function hasBegun(words: readonly string[]): boolean {
  return words[0] === '/bin/sh' && (hasParentDeathSignal ? words.at(-1) === 'watchdog' : words.includes('watchdog'));
}
