import { fork, type ChildProcess } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isNews, type News, type Order } from './messages.ts';
import { within } from './within.ts';

export interface CrewListener {
  said(worker: number, news: News): void;
  /** The worker ended, although it had no order to stop. */
  died(worker: number, how: string): void;
}

interface Member {
  readonly worker: number;
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
}

// This file is TypeScript or, after scripts/start.mjs has translated it, JavaScript: so is the worker's.
const script = fileURLToPath(new URL(`worker${extname(import.meta.url)}`, import.meta.url));
const stopLimitMs = 5_000;

/** The worker processes, numbered from 1. */
export class Crew {
  readonly #listener: CrewListener;
  readonly #members: readonly Member[];
  #isStopping = false;

  constructor(size: number, listener: CrewListener) {
    this.#listener = listener;
    this.#members = Array.from({ length: size }, (_, index) => this.#start(index + 1));
  }

  order(orderFor: (worker: number) => Order): void {
    for (const { worker, child } of this.#members) {
      // If the channel is closed, the worker's 'exit' event follows soon.
      if (child.connected) child.send(orderFor(worker), () => undefined);
    }
  }

  /** Resolves when all workers have ended. A worker that does not end within some seconds is killed. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.order(() => ({ is: 'stop' }));
    const ended = Promise.all(this.#members.map((member) => member.ended));
    if ((await within(stopLimitMs, ended)) === 'settled') return;
    for (const { child } of this.#members) child.kill('SIGKILL');
    await ended;
  }

  #start(worker: number): Member {
    const child = fork(script, {
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    child.on('message', (message) => {
      if (isNews(message)) this.#listener.said(worker, message);
    });
    const ended = new Promise<void>((resolve) => {
      const end = (how: string): void => {
        if (!this.#isStopping) this.#listener.died(worker, how);
        resolve();
      };
      child.once('exit', (code, signal) => end(signal ?? `exit code ${code ?? '?'}`));
      child.once('error', (error) => {
        if (child.pid === undefined) end(error.message);
      });
    });
    return { worker, child, ended };
  }
}
