import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isCommand, zooKeeperJars } from './debian-zookeeper.ts';

export const mainClass = {
  standalone: 'org.apache.zookeeper.server.ZooKeeperServerMain',
  quorum: 'org.apache.zookeeper.server.quorum.QuorumPeerMain',
} as const;

export interface ProcessOptions {
  /** Holds `zoo.cfg`; the log goes there too. */
  readonly directory: string;
  readonly main: keyof typeof mainClass;
  readonly javaOptions: readonly string[];
}

/** One run of the Java server, from spawn to exit. */
export class ZooKeeperProcess {
  readonly pid: number;
  /** Resolves with how it ended. */
  readonly ended: Promise<string>;
  hasEnded = false;
  readonly #child: ChildProcess;
  readonly #logFile: string;
  readonly #logStart: number;

  static async spawn(options: ProcessOptions): Promise<ZooKeeperProcess> {
    const logFile = join(options.directory, 'server.log');
    const logStart = existsSync(logFile) ? readFileSync(logFile).length : 0;
    // A file, not a pipe: nobody has to read it while the test's event loop is blocked.
    const log = openSync(logFile, 'a');
    const [command = 'java', ...args] = commandLine(options);
    const child = spawn(command, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    return new ZooKeeperProcess(child, logFile, logStart);
  }

  private constructor(child: ChildProcess, logFile: string, logStart: number) {
    if (child.pid === undefined) throw new Error('java was spawned without a process id');
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

  /** Resolves when it has ended. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  pause(): void {
    this.#child.kill('SIGSTOP');
    // The signal is only on its way: threads on other cores answer for another moment.
    for (let look = 0; look < 10_000 && !isStopped(this.pid); look++);
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** What this run has logged, the end of it. */
  logTail(lines = 30): string {
    if (!existsSync(this.#logFile)) return '';
    const text = readFileSync(this.#logFile).subarray(this.#logStart).toString('utf8');
    return text.trimEnd().split('\n').slice(-lines).join('\n');
  }
}

function commandLine({ directory, main, javaOptions }: ProcessOptions): string[] {
  // By the kernel: where the test process is killed with SIGKILL, nobody else can end the server.
  const diesWithParent = isCommand('setpriv') ? ['setpriv', '--pdeathsig', 'KILL'] : [];
  return [
    ...diesWithParent,
    'java',
    '-Xmx128m',
    '-XX:TieredStopAtLevel=1',
    '-XX:+UseSerialGC',
    '-Xshare:auto',
    '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
    ...javaOptions,
    '-cp',
    zooKeeperJars.join(':'),
    mainClass[main],
    join(directory, 'zoo.cfg'),
  ];
}

/** By Linux's own account. Elsewhere the signal has to do. */
function isStopped(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return true;
  return readdirSync(tasks).every((task) => /\) [TZX] |^$/.test(textOf(`${tasks}/${task}/stat`)));
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // a thread that ended while we looked
  }
}
