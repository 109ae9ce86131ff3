import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface LinkRequest {
  readonly target: number;
  readonly delayMs: number;
}

export interface LinkAnswer {
  readonly port: number;
}

/** Long links to servers of this machine, carried by a process of their own. */
export class DelayedLinks implements AsyncDisposable {
  readonly #process: ChildProcess;

  static async start(): Promise<DelayedLinks> {
    const process = fork(fileURLToPath(new URL('link-process.ts', import.meta.url)), { execArgv: ['--import=tsx'] });
    await once(process, 'spawn');
    return new DelayedLinks(process);
  }

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  /** Opens a port of 127.0.0.1 that leads to `target`. Each direction takes `delayMs`. Asked one at a time. */
  async open(target: number, delayMs: number): Promise<number> {
    const answer = once(this.#process, 'message') as Promise<[LinkAnswer]>;
    this.#process.send({ target, delayMs } satisfies LinkRequest);
    const [{ port }] = await answer;
    return port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.disconnect();
    await ended;
  }
}
