import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '../../../../../src/support/error-text.js';
import { UsageError } from '../usage-error.js';
import { send, untilEnded, type CommandProcesses } from './command-processes.js';

/**
 * A control group (cgroup, version 2) of its own for a command. No process leaves it by `setsid` or by the end of its
 * parent, and the kernel says when the last one has ended.
 */
export class Scope implements CommandProcesses {
  readonly #folder: string;
  #session = 0;
  #isKilled = false;

  /**
   * @param name of the new control group
   * @param parent the folder in which it is created
   * @throws UsageError if the system does not allow it
   */
  constructor(name: string, parent = ownGroup()) {
    this.#folder = join(parent, name);
    try {
      mkdirSync(this.#folder);
    } catch (error) {
      throw new UsageError(
        `--scope cannot create a control group in ${parent}: ${errorText(error)}. The user of zklock must be allowed to, ` +
          'as by systemd-run --user --scope -p Delegate=yes',
      );
    }
  }

  get address(): string {
    return `${this.#session} ${this.#folder}`;
  }

  /** Moves this process into it. All processes that it creates later are in it, too. */
  add(pid: number): void {
    this.#session = pid;
    try {
      writeFileSync(join(this.#folder, 'cgroup.procs'), `${pid}`);
    } catch (error) {
      throw new UsageError(`--scope cannot move the command into ${this.#folder}: ${errorText(error)}`);
    }
  }

  signal(signal: NodeJS.Signals): void {
    for (const pid of this.running) send(pid, signal);
  }

  terminate(): void {
    this.signal('SIGTERM');
    this.signal('SIGCONT');
  }

  kill(): void {
    this.#isKilled = true;
    const file = join(this.#folder, 'cgroup.kill');
    if (existsSync(file)) writeFileSync(file, '1');
    else this.signal('SIGKILL'); // before Linux 5.14
  }

  get isAlive(): boolean {
    return /^populated 1$/m.test(textOf(join(this.#folder, 'cgroup.events')));
  }

  get isSeen(): boolean {
    return this.isAlive; // the kernel knows
  }

  get running(): number[] {
    return foldersIn(this.#folder).flatMap((folder) =>
      textOf(join(folder, 'cgroup.procs')).split('\n').filter(Boolean).map(Number),
    );
  }

  ended(): Promise<void> {
    return untilEnded(() => {
      if (this.#isKilled) this.kill();
      return this.isAlive;
    });
  }

  /** Removes the control group, with those that the command has made in it. It must be empty. */
  remove(): void {
    try {
      for (const folder of foldersIn(this.#folder).reverse()) rmdirSync(folder);
    } catch {
      // The command has not left it. An empty group costs nothing.
    }
  }
}

/** The folder of this process's control group. @throws UsageError if there is none */
function ownGroup(): string {
  const folder = groupFolder(textOf('/proc/self/mountinfo'), textOf('/proc/self/cgroup'));
  if (folder === undefined)
    throw new UsageError('--scope needs Linux with control groups of version 2 (cgroup2), and none are mounted here');
  return folder;
}

/**
 * The folder of a process's control group of version 2.
 *
 * @param mounts what proc(5) says of `mountinfo`
 * @param groups what cgroups(7) says of `/proc/PID/cgroup`
 */
export function groupFolder(mounts: string, groups: string): string | undefined {
  const group = /^0::(.*)$/m.exec(groups)?.[1];
  if (group === undefined) return undefined;
  for (const line of mounts.split('\n')) {
    const [mount = '', system = ''] = line.split(' - ');
    const [, , , root = '', point = ''] = mount.split(' ').map(unescaped);
    if (!system.startsWith('cgroup2 ')) continue;
    if (root === '/') return join(point, group);
    if (group === root || group.startsWith(`${root}/`)) return join(point, group.slice(root.length));
  }
  return undefined;
}

/** `mountinfo` writes a space as `\040`. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));
}

/** The folder, and then those in it. */
function foldersIn(folder: string): string[] {
  try {
    const inside = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [folder, ...inside.flatMap(({ name }) => foldersIn(join(folder, name)))];
  } catch {
    return []; // the command has just removed it
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
