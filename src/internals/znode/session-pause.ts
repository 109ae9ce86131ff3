import type { Clock } from '../../support/clock.js';
import type { Session } from '../../zookeeper/session/session.js';

/** Waits before a request is made again that was refused `tries` times before. Resolves at once if the session ends. */
export function sessionPause(session: Session, clock: Pick<Clock, 'after'>, tries: number): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      cancel();
      stop();
      resolve();
    };
    const cancel = clock.after(Math.min(slowestRetryMs, 100 * 2 ** Math.min(tries, 10)), finish);
    const stop = session.onChange(() => session.isEnded && finish());
  });
}

const slowestRetryMs = 5_000;
