import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';

/** A process, as proc(5) lists it. */
export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** False for a zombie: it has ended, and its parent has not asked for its exit code yet. */
  readonly isRunning: boolean;
}

export interface ProcessTable {
  readonly processes: readonly Process[];
  /** True if a process of the last list ended before it was read. It may have created another one. */
  readonly isUnsure: boolean;
}

/**
 * All processes that this user may see. None where there is no /proc. If one has ended when it is its turn to be read,
 * /proc is listed again, and the new ones are read at once: one of them may be its child.
 */
export function processTable(): ProcessTable {
  const processes: Process[] = [];
  const known = new Set<number>();
  let isUnsure = true;
  for (let list = 0; isUnsure && list < mostLists; list += 1) {
    isUnsure = false;
    for (const pid of allIds()) {
      if (known.has(pid)) continue;
      known.add(pid);
      const found = processOf(pid);
      if (typeof found === 'object') processes.push(found);
      if (found === 'gone' || (found !== 'hidden' && !found.isRunning)) isUnsure = true;
    }
  }
  return { processes, isUnsure };
}

/** `hidden`: another user's, where /proc is mounted with `hidepid`. */
export function processOf(pid: number): Process | 'gone' | 'hidden' {
  try {
    const found = parsed(pid, textOf(`/proc/${pid}/stat`));
    // So Linux writes the session of a process that its parent has just reaped.
    return found.session < 0 ? 'gone' : found;
  } catch (error) {
    return ['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '') ? 'gone' : 'hidden';
  }
}

/**
 * The processes that were started with this variable in their environment, and that have neither overwritten it nor
 * belong to another user.
 *
 * @param variable such as `NAME=value`
 */
export function processesWith(variable: string): Process[] {
  return processTable().processes.filter(({ pid, isRunning }) => isRunning && hasVariable(pid, variable));
}

function hasVariable(pid: number, variable: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(variable);
  } catch {
    return false; // it has just ended, or belongs to another user
  }
}

/** The youngest first: a process that creates the next one and ends is read before it has ended. */
function allIds(): number[] {
  try {
    const ids = readdirSync('/proc').map(Number).filter(Number.isInteger);
    return ids.sort((a, b) => b - a);
  } catch {
    return [];
  }
}

/**
 * `PID (NAME) STATE PARENT GROUP SESSION …`; the name may contain spaces and parentheses. A process whose first thread
 * has ended is in the state of a zombie too, while its other threads run.
 */
function parsed(pid: number, stat: string): Process {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state = '', parent, group, session] = fields;
  const threads = Number(fields[17]);
  const isRunning = !((state === 'Z' && !(threads > 1)) || state === 'X');
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), isRunning };
}

/** With three system calls: `readFileSync` makes five, and all processes are read in one go. */
function textOf(file: string): string {
  const descriptor = openSync(file, 'r');
  try {
    return buffer.toString('latin1', 0, readSync(descriptor, buffer, 0, buffer.length, null));
  } finally {
    closeSync(descriptor);
  }
}

const mostLists = 10;

/** A line of stat has 52 numbers at most, of 20 digits at most, and a name of 64 bytes at most. */
const buffer = Buffer.allocUnsafe(2_048);
