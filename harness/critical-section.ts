import type { InterProcessMutex } from '../src/index.ts';
import { until } from './until.ts';
import { queueOf } from './queue.ts';

/**
 * What a lock protects. It counts who is inside at once, and each visit stays long enough for a wrong one to be seen:
 * until all
 * the others are in the queue behind it, or somebody has walked in.
 */
export class CriticalSection {
  /** The largest number that was ever inside at once. */
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
