import { existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
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
 * The same streams, and the null device in the place of each inherited file that can be replaced. This process keeps its
 * own, because a lock of flock(2) may depend on one, and Node.js cannot tell a new process to close a number.
 */
export function withoutFiles(
  streams: readonly ('inherit' | 'ignore' | 'pipe')[],
  files: readonly number[],
): StdioOptions {
  const all: ('inherit' | 'ignore' | 'pipe' | number)[] = [...streams];
  const most = mostReplaced();
  for (const file of files.filter((number) => number >= streams.length && number < most)) {
    while (all.length < file) all.push('ignore'); // from 3 on, it passes on what is there
    all[file] = nullDevice();
  }
  return all;
}

/**
 * The shell of a new process that must not have these files: bash can close a file whose number has two digits. Without
 * --posix, it would run the file of `BASH_ENV` first, and without --norc, that of the user if its input is a socket.
 */
export function shellWithout(files: readonly number[]): Shell {
  return files.length > 0 && existsSync(bash)
    ? { words: [bash, '--norc', '--posix'], closes: files }
    : { words: ['/bin/sh'], closes: [] };
}

export interface Shell {
  readonly words: readonly [program: string, ...options: string[]];
  /** The files that it can close. */
  readonly closes: readonly number[];
}

/** The words of a shell that close files. */
export function closing(files: readonly number[]): string {
  return `exec ${files.map((file) => `${file}<&-`).join(' ')}`;
}

export const bash = '/bin/bash';

/**
 * Files from this number on cannot be replaced. Node.js duplicates the null device once for each file that it replaces,
 * to numbers above all of them, and a number above the limit of open files is EINVAL.
 */
function mostReplaced(): number {
  try {
    const [, limit = ''] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return limit === '' ? Infinity : Number(limit) / 2;
  } catch {
    return Infinity;
  }
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
