import type { InterProcessMutex } from '../src/index.ts';
import { until } from './until.ts';
import { queueOf } from './queue.ts';

/**
 * The code that a lock protects. It counts the visitors inside at the same time. Each visit lasts long enough to see a
 * second visitor: until all other contenders are queued, or a second one is inside.
 */
export class CriticalSection {
  /** The largest number of visitors that were inside at the same time. */
  most = 0;
  visits = 0;
  #inside = 0;
  #left = 0;
  readonly #lock: InterProcessMutex;
  readonly #contenders: number;

  constructor(lock: InterProcessMutex, contenders: number) {
    this.#lock = lock;
    this.#contenders = contenders;
  }

  async visit(): Promise<void> {
    this.visits += 1;
    this.#inside += 1;
    this.most = Math.max(this.most, this.#inside);
    const queue = this.#contenders - this.#left;
    await until(
      `${queue} are in the queue, or more than one inside`,
      async () => this.most > 1 || (await queueOf(this.#lock)).length >= queue,
    );
    this.#inside -= 1;
    this.#left += 1;
  }
}
