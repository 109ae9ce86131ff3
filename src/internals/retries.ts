import type { LockHost } from '../client/lock-host.js';
import type { Deadline } from '../support/deadline.js';

/** The number of retries of one step of an acquire. The retry policy decides whether and when to try again. */
export class Retries {
  readonly #host: LockHost;
  #count = 0;

  constructor(host: LockHost) {
    this.#host = host;
  }

  /** Sleeps for the time that the policy returns. Rejects with `error` when the policy gives up. */
  async pause(deadline: Deadline, error: unknown, retryCount = this.#count++): Promise<void> {
    const { chance, clock, options } = this.#host;
    const decision = options.retryPolicy.allowRetry({
      retryCount,
      elapsedMs: clock.now() - deadline.startedAt,
      random: chance.random,
    });
    if (!decision.retry) throw error;
    await deadline.sleep(decision.sleepMs);
  }
}
