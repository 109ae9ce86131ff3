import { readdirSync, readFileSync } from 'node:fs';

/** A process, as the tests see it: they do not ask the code that they test. */
export interface SeenProcess {
  readonly pid: number;
  /** As proc(5) names it. */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
}

/** All processes. Linux only. */
export function allProcesses(): SeenProcess[] {
  return readdirSync('/proc').flatMap((name) => {
    const process = /^\d+$/.test(name) ? processOf(Number(name)) : undefined;
    return process ? [process] : [];
  });
}

export function processOf(pid: number): SeenProcess | undefined {
  const [state = '', ...ids] = textOf(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? [];
  const [parent = 0, group = 0, session = 0] = ids.map(Number);
  return state === '' ? undefined : { pid, state, parent, group, session };
}

/** A zombie that nobody has reaped does not run. */
export function isRunning(process: SeenProcess | undefined): boolean {
  return process !== undefined && !'ZX'.includes(process.state);
}

/** The processes that run and were started with this variable, `NAME=value`, in their environment. */
export function runningWith(variable: string): number[] {
  const marked = allProcesses().filter(
    (each) => isRunning(each) && textOf(`/proc/${each.pid}/environ`).split('\0').includes(variable),
  );
  return marked.map(({ pid }) => pid);
}

/** The command line. */
export function wordsOf(pid: number): readonly string[] {
  return textOf(`/proc/${pid}/cmdline`).split('\0').slice(0, -1);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // the process has just ended
  }
}
