import type { ChildProcess } from 'node:child_process';
import type { Order } from './messages.ts';

/** What a client of a run is: how it is started, and how it is told what to do. */
export interface Program {
  /** Its name. */
  readonly client: string;
  /** Not this library: it stands in the same queues, and is not judged. It neither stalls nor tells its session. */
  readonly isPeer: boolean;
  /** One process of it; `incarnation` counts them. */
  start(incarnation: number, connectString: string): ChildProcess;
  order(child: ChildProcess, order: Order): void;
}
