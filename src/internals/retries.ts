import type { LockClient } from '../client/lock-client.js';
import type { Deadline } from './deadline.js';

/** How often one acquire has started over because its znode had vanished: the retry policy decides whether and when it does again. */
export class Retries {
  readonly #client: LockClient;
  readonly #startedAt: number;
  #count = 0;

  constructor(client: LockClient, startedAt: number) {
    this.#client = client;
    this.#startedAt = startedAt;
  }

  /** Sleeps as the policy says. Rejects with `error` when it gives up. */
  async pause(deadline: Deadline, error: Error): Promise<void> {
    const { clock, options } = this.#client;
    const decision = options.retryPolicy.allowRetry({ retryCount: this.#count, elapsedMs: clock.now() - this.#startedAt, random: Math.random });
    this.#count += 1;
    if (!decision.retry) throw error;
    await deadline.wait<undefined>((wake) => clock.after(decision.sleepMs, () => wake(undefined)));
  }
}
