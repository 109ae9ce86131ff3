import type { ChildProcess } from 'node:child_process';
import type { Order } from './messages.ts';

/** The program of a client: how to start it, and how to send it an order. */
export interface Program {
  /** The name of the client. */
  readonly client: string;
  /**
   * True if it is not this library. A peer uses the same queues, but is not checked. It can neither stall nor identify
   * its session.
   */
  readonly isPeer: boolean;
  /** Starts a process of the program. `incarnation` counts these processes. */
  start(incarnation: number, connectString: string): ChildProcess;
  order(child: ChildProcess, order: Order): void;
}
