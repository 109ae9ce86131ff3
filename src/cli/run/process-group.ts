import { readdirSync, readFileSync } from 'node:fs';

/** A group of processes, named by the process id of its first member. */
export class ProcessGroup {
  readonly id: number;
  /** The process that the last search found to run. */
  #running = '';

  constructor(id: number) {
    this.id = id;
  }

  /** Sends the signal to every process of the group that this user may signal. */
  signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.id, signal);
    } catch (error) {
      if (!isGoneOrForeign(error)) throw error;
    }
  }

  /** True while a process of the group runs. A zombie has ended; where nobody reaps it, it stays forever. */
  get isAlive(): boolean {
    try {
      process.kill(-this.id, 0);
    } catch (error) {
      if (!isGoneOrForeign(error)) throw error;
      return codeOf(error) === 'EPERM';
    }
    return !this.#hasOnlyZombies();
  }

  /** Resolves when no process of the group runs any more. */
  async ended(): Promise<void> {
    for (let pauseMs = shortestPauseMs; this.isAlive; pauseMs = Math.min(pauseMs * 2, longestPauseMs))
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }

  /** False also where there is no /proc: then a zombie counts as a process. */
  #hasOnlyZombies(): boolean {
    // All of /proc is searched only when that process has ended: the group is looked at twenty times a second.
    if (this.#running !== '' && stateOf(this.#running, this.id) === 'running') return false;
    let before = new Set<string>();
    for (let search = 0; search < mostSearches; search += 1) {
      const { running, ended } = membersOf(this.id);
      this.#running = running ?? '';
      if (running !== undefined || ended.length === 0) return false;
      // A process may have been created after the list was read, by one that ended before its state was read. A process
      // that had ended before the list was read has created none.
      if (ended.every((pid) => before.has(pid))) return true;
      before = new Set(ended);
    }
    return false;
  }
}

/** No system tells when a group has ended, so it is asked. */
const shortestPauseMs = 2;
const longestPauseMs = 50;

/** A group whose processes replace each other faster than they can be listed is alive. */
const mostSearches = 3;

/** The group has ended, or all of its processes belong to another user. */
function isGoneOrForeign(error: unknown): boolean {
  return ['ESRCH', 'EPERM'].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

interface Members {
  /** A process of the group that runs, if there is one. */
  readonly running: string | undefined;
  /** The zombies that were found before it. */
  readonly ended: readonly string[];
}

/** Without /proc, no members are found. */
function membersOf(group: number): Members {
  const ended: string[] = [];
  for (const pid of allProcesses()) {
    const state = stateOf(pid, group);
    if (state === 'running') return { running: pid, ended };
    if (state === 'ended') ended.push(pid);
  }
  return { running: undefined, ended };
}

/**
 * `PID (NAME) STATE PARENT GROUP …`, as proc(5) lists them; the name may contain spaces and parentheses. A process whose
 * first thread has ended is in the state of a zombie too, while its other threads run.
 */
function stateOf(pid: string, group: number): 'running' | 'ended' | 'no member' {
  const stat = statOf(pid);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state = '', , id] = fields;
  if (Number(id) !== group) return 'no member';
  const threads = Number(fields[17]);
  return (state === 'Z' && !(threads > 1)) || state === 'X' ? 'ended' : 'running';
}

function allProcesses(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return ''; // the process has just ended
  }
}
