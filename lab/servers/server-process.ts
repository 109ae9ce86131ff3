import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isCommand } from './debian-zookeeper.ts';

/** One run of a server, from spawn to exit. */
export class ServerProcess {
  readonly pid: number;
  /** Resolves with the exit code or the signal. */
  readonly ended: Promise<string>;
  hasEnded = false;
  readonly #child: ChildProcess;
  readonly #logFile: string;
  readonly #logStart: number;

  /** The server's output goes to `server.log` in the directory. */
  static async spawn(directory: string, commandLine: readonly string[]): Promise<ServerProcess> {
    const logFile = join(directory, 'server.log');
    const logStart = existsSync(logFile) ? readFileSync(logFile).length : 0;
    // A file instead of a pipe, because the test cannot read a pipe while its event loop is blocked.
    const log = openSync(logFile, 'a');
    const [command = '', ...args] = endsWithParent(commandLine);
    const child = spawn(command, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    return new ServerProcess(child, logFile, logStart);
  }

  private constructor(child: ChildProcess, logFile: string, logStart: number) {
    if (child.pid === undefined) throw new Error('The server was spawned without a process id');
    this.pid = child.pid;
    this.#child = child;
    this.#logFile = logFile;
    this.#logStart = logStart;
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.hasEnded = true;
        resolve(signal === null ? `exit code ${code ?? '?'}` : `signal ${signal}`);
      });
    });
  }

  /** Resolves when the process has ended. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  pause(): void {
    pauseProcess(this.#child, this.pid);
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** The end of the log of this run. */
  logTail(lines = 30): string {
    if (!existsSync(this.#logFile)) return '';
    const text = readFileSync(this.#logFile).subarray(this.#logStart).toString('utf8');
    return text.trimEnd().split('\n').slice(-lines).join('\n');
  }
}

export function pauseProcess(child: ChildProcess, pid: number): void {
  child.kill('SIGSTOP');
  // The signal does not work at once: threads on other cores still answer for a moment.
  for (let look = 0; look < 10_000 && !isStopped(pid); look++);
}

/** By the kernel: if the parent is killed with SIGKILL, no other process can end the server. */
function endsWithParent(commandLine: readonly string[]): string[] {
  return isCommand('setpriv') ? ['setpriv', '--pdeathsig', 'KILL', ...commandLine] : [...commandLine];
}

/** True if all threads are stopped according to /proc. Without /proc the signal must be enough. */
function isStopped(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return true;
  return readdirSync(tasks).every((task) => /\) [TZX] |^$/.test(textOf(`${tasks}/${task}/stat`)));
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // the thread has ended meanwhile
  }
}
