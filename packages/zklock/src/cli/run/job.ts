import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { exitCodeOfSignal } from '../exit-code.js';
import type { CommandProcesses } from './command-processes.js';
import { CommandSession } from './command-session.js';
import { bash, closing, inheritedFiles, shellWithout, withoutFiles, type Shell } from './inherited-files.js';
import type { Scope } from './scope.js';

/** The command of `zklock run`, in a session of its own, with the standard streams of this process. */
export class Job {
  readonly session: CommandSession;
  readonly processes: CommandProcesses;
  /** Resolves with the exit code when the command has ended: 128 + n if signal n ended it. */
  readonly exitCode: Promise<number>;
  readonly #gate: Writable;

  /**
   * Creates the process, which waits for {@link start} and only then becomes the command. So the watchdog can learn the
   * session before the command runs, and the command is in its scope from the start. If this process ends first, the new process ends too.
   *
   * @param env added to the environment
   */
  constructor(command: readonly string[], env: Readonly<Record<string, string>>, scope?: Scope) {
    // A shell passes the file of `<(…)` on, and its name on the command line.
    const isNamed = (file: number): boolean => command.some((word) => word.endsWith(`/fd/${file}`));
    const inherited = inheritedFiles().filter((file) => !isNamed(file));
    const { words, closes } = shellFor(process.env, inherited);
    const [shell, ...shellOptions] = words;
    const child = spawn(shell, [...shellOptions, '-c', waitAndBecome(closes), 'zklock', ...command], {
      detached: true,
      stdio: withoutFiles(['inherit', 'inherit', 'inherit', 'pipe'], inherited),
      env: { ...process.env, ...env },
    });
    this.exitCode = exitCodeOf(child);
    this.#gate = child.stdio[3] as Writable;
    // The process may be killed before it reads.
    this.#gate.on('error', () => undefined);
    if (child.pid === undefined) throw new Error('The system cannot start another process');
    this.session = new CommandSession(child.pid);
    this.processes = scope ?? this.session;
    try {
      scope?.add(child.pid);
    } catch (error) {
      this.#gate.destroy(); // the new process ends
      throw error;
    }
  }

  start(): void {
    this.#gate.end('go\n');
  }
}

/**
 * The read fails if `zklock` ends before it writes. It sets a variable that no command uses, because the command gets all
 * variables. The shell's own messages name the command that cannot be executed.
 */
const waitAndBecome = (files: readonly number[]): string =>
  `read -r _zklock_go <&3 || exit 1; ${closing([3, ...files])}; exec "$@"`;

/**
 * dash, which is /bin/sh on Debian, drops the variables whose names it cannot assign, such as `spring.profile`. bash
 * passes them on.
 */
function shellFor(env: NodeJS.ProcessEnv, files: readonly number[]): Shell {
  const isPlain = Object.keys(env).every((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  return isPlain || !existsSync(bash) ? shellWithout(files) : { words: [bash, '--norc', '--posix'], closes: files };
}

function exitCodeOf(child: ChildProcess): Promise<number> {
  const exitCode = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(signal === null ? (code ?? 0) : exitCodeOfSignal(signal)));
  });
  exitCode.catch(() => undefined); // if the constructor throws, nobody waits for it
  return exitCode;
}
