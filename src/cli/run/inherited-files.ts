import { openSync, readdirSync, readFileSync } from 'node:fs';
import type { StdioOptions } from 'node:child_process';

/**
 * The numbers of the files that the caller of this process has left open, and that a new process would get. Node.js marks
 * only the first ones, up to a gap, as not to be passed on. None where there is no /proc.
 */
export function inheritedFiles(): number[] {
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .filter((number) => number > 2 && isPassedOn(number));
  } catch {
    return [];
  }
}

/**
 * The same streams, and the null device in the place of each inherited file. This process keeps its own, because a lock of
 * flock(2) may depend on one, and Node.js cannot tell a new process to close a number.
 */
export function withoutFiles(
  streams: readonly ('inherit' | 'ignore' | 'pipe')[],
  files: readonly number[],
): StdioOptions {
  const all: ('inherit' | 'ignore' | 'pipe' | number)[] = [...streams];
  for (const file of files.filter((number) => number >= streams.length)) {
    while (all.length < file) all.push('ignore'); // from 3 on, it passes on what is there
    all[file] = nullDevice();
  }
  return all;
}

function isPassedOn(number: number): boolean {
  try {
    const [, flags = ''] = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${number}`, 'utf8')) ?? [];
    return (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    return false; // the one that has read the folder
  }
}

/** O_CLOEXEC of Linux. */
const closeOnExec = 0o2000000;

let opened: number | undefined;

function nullDevice(): number {
  return (opened ??= openSync('/dev/null', 'r+'));
}
