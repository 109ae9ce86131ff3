import type { LockHost } from '../client/lock-host.js';
import { refused, znodeDeleted } from '../client/report/refusal.js';
import type { Deadline } from '../support/deadline.js';
import type { Session } from '../zookeeper/session/session.js';
import { sync } from '../zookeeper/wire/operations.js';

/** The number of retries of one step of an acquire. The retry policy decides whether and when to try again. */
export class Retries {
  readonly #host: LockHost;
  #count = 0;

  constructor(host: LockHost) {
    this.#host = host;
  }

  /**
   * As `pause`, for a call whose znode is not in the queue at `path`. Resolves without a pause if the session has expired:
   * a process that was frozen reads of the deletion of its znode before it learns of the end of its session.
   */
  async pauseAfterDeletion(session: Session, path: string, deadline: Deadline): Promise<void> {
    const { clock, options } = this.#host;
    const failed = refused(options, `The lock ${path} cannot be acquired`);
    const asked = (): Promise<unknown> => session.ask(sync(path), deadline).catch(failed);
    if (clock.now() >= session.endsAt) await deadline.limit(asked, () => {});
    if (!session.isEnded) await this.pause(deadline, znodeDeleted(path));
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
