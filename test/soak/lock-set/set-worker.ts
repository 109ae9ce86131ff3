import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { SetRun } from './run.ts';

/** A process that adds elements to a set, and that can be stopped. */
export class SetWorker {
  readonly #child: ChildProcess;

  constructor() {
    const program = fileURLToPath(new URL('add-elements.ts', import.meta.url));
    this.#child = fork(program, { execArgv: ['--import=tsx'], stdio: 'inherit' });
  }

  /** Resolves with the elements that the process added, as far as it was told by an answer. */
  run(run: SetRun): Promise<string[]> {
    return new Promise((resolve, reject) => {
      this.#child.once('message', (added) => resolve(added as string[]));
      this.#child.once('exit', (code) => reject(new Error(`A process of lock-set ended with code ${code}`)));
      this.#child.send(run);
    });
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal);
  }

  kill(): void {
    this.#child.removeAllListeners('exit');
    this.#child.kill('SIGKILL');
  }
}
