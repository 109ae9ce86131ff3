import type { LockClient } from '../client/lock-client.js';
import type { Deadline } from '../support/deadline.js';

/**
 * How often one step of an acquire was tried again: the retry policy decides whether and when it is tried once more.
 */
export class Retries {
  readonly #client: LockClient;
  #count = 0;

  constructor(client: LockClient) {
    this.#client = client;
  }

  /** Sleeps as the policy says. Rejects with `error` when the policy gives up. */
  async pause(deadline: Deadline, error: unknown, retryCount = this.#count++): Promise<void> {
    const { clock, options } = this.#client;
    const decision = options.retryPolicy.allowRetry({
      retryCount,
      elapsedMs: clock.now() - deadline.startedAt,
      random: Math.random,
    });
    if (!decision.retry) throw error;
    await deadline.sleep(decision.sleepMs);
  }
}
