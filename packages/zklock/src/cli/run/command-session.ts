import { send, untilEnded, type CommandProcesses } from './command-processes.js';
import { processOf, processTable, type Process } from './process-table.js';

/**
 * The session of a command, with all its process groups: `set -m` and an interactive shell give each job a group of its
 * own. Where there is no /proc, only the first group can be followed.
 */
export class CommandSession implements CommandProcesses {
  readonly id: number;
  #stage: 'running' | 'ending' | 'killed' = 'running';
  /** The session, and from the stage `ending` on, those that its descendants have made. */
  #sessions: ReadonlySet<number>;
  /** The process that the last search found to run. */
  #runner: number | undefined;
  /** How many tables in a row have shown nothing, and may have missed something. */
  #doubts = 0;

  /** @param id the process id of the first member, which leads its session and its group */
  constructor(id: number) {
    this.id = id;
    this.#sessions = new Set([id]);
  }

  get address(): string {
    return `${this.id}`;
  }

  signal(signal: NodeJS.Signals): void {
    this.#sendTo(this.#members(processTable().processes), signal);
  }

  terminate(): void {
    if (this.#stage === 'running') this.#stage = 'ending';
    const members = this.#members(processTable().processes);
    this.#sendTo(members, 'SIGTERM');
    this.#sendTo(members, 'SIGCONT');
  }

  kill(): void {
    this.#stage = 'killed';
    const killed = new Set<number>();
    for (let sweep = 0; sweep < mostSweeps; sweep += 1) {
      const running = this.#members(processTable().processes).filter(({ isRunning }) => isRunning);
      this.#sendTo(running, 'SIGKILL');
      // A process that was created after the table was read is in the next one.
      if (running.every(({ pid }) => killed.has(pid))) return;
      for (const { pid } of running) killed.add(pid);
    }
  }

  get isAlive(): boolean {
    const group = send(-this.id, 0);
    if (group === 'forbidden') return true;
    // The whole table is read only when that process has ended: the session is looked at twenty times a second.
    if (this.#stage === 'running' && this.#runner !== undefined && this.#runs(this.#runner)) return true;
    return this.#search(group === 'sent');
  }

  get isSeen(): boolean {
    const group = send(-this.id, 0);
    if (group === 'forbidden') return true;
    const { processes } = processTable();
    return processes.length === 0 ? group === 'sent' : this.#members(processes).some(({ isRunning }) => isRunning);
  }

  get running(): number[] {
    return this.#members(processTable().processes).flatMap(({ pid, isRunning }) => (isRunning ? [pid] : []));
  }

  ended(): Promise<void> {
    return untilEnded(() => {
      if (this.#stage === 'killed') this.kill();
      return this.isAlive;
    });
  }

  #search(hasGroup: boolean): boolean {
    const { processes, isUnsure } = processTable();
    if (processes.length === 0) return hasGroup; // no /proc: a zombie counts as a process
    const members = this.#members(processes);
    const runner = members.find(({ isRunning }) => isRunning);
    this.#runner = runner?.pid;
    const isFound = runner !== undefined || (hasGroup && members.length === 0);
    this.#doubts = isUnsure && !isFound ? this.#doubts + 1 : 0;
    return isFound || (isUnsure && this.#doubts < mostDoubts);
  }

  #runs(pid: number): boolean {
    const found = processOf(pid);
    return typeof found === 'object' && found.isRunning && found.session === this.id;
  }

  #members(processes: readonly Process[]): Process[] {
    if (this.#stage === 'running') return processes.filter(({ session }) => session === this.id);
    const members = withDescendants(processes, this.#sessions);
    this.#sessions = new Set([this.id, ...members.map(({ session }) => session)]);
    return members;
  }

  /** To groups, because a process cannot leave its group by a fork. The first group is one also where there is no /proc. */
  #sendTo(members: readonly Process[], signal: NodeJS.Signals): void {
    for (const group of new Set([this.id, ...members.map((member) => member.group)])) send(-group, signal);
  }
}

/** On a machine that starts thousands of processes a second, each table may miss one. The lock must not wait forever. */
const mostDoubts = 30;

const mostSweeps = 100;

/**
 * The processes of these sessions, of their descendants, and of the sessions that these have made. A process never joins
 * a session, it only inherits or makes one. So all processes of a descendant's session are descendants, also if their
 * parents have ended.
 */
export function withDescendants(processes: readonly Process[], sessions: ReadonlySet<number>): Process[] {
  const inside = new Set(sessions);
  const members = new Map<number, Process>();
  for (let before = -1; before < members.size;) {
    before = members.size;
    for (const each of processes) {
      if (!inside.has(each.session) && !members.has(each.parent)) continue;
      members.set(each.pid, each);
      inside.add(each.session);
    }
  }
  return [...members.values()];
}
