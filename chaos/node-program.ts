import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ClientSetup, Order } from './messages.ts';
import type { Program } from './program.ts';

const script = fileURLToPath(new URL('client/main.ts', import.meta.url));

/** A client that uses this library. */
export class NodeProgram implements Program {
  readonly client: string;
  readonly isPeer = false;
  readonly #plan: Omit<ClientSetup, 'incarnation' | 'connectString'>;

  constructor(plan: Omit<ClientSetup, 'incarnation' | 'connectString'>) {
    this.client = plan.client;
    this.#plan = plan;
  }

  start(incarnation: number, connectString: string): ChildProcess {
    const setup: ClientSetup = { ...this.#plan, incarnation, connectString };
    return fork(script, [JSON.stringify(setup)], {
      execArgv: ['--import=tsx'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
  }

  order(child: ChildProcess, order: Order): void {
    if (child.connected) child.send(order);
  }
}
