import { NotOwnedError, type LockLostError } from '../internals/lock-errors.js';
import type { ReleaseOutcome } from '../internals/grant.js';

/**
 * Runs `job`, and releases `hold` when it settles, whatever happens. A job that fulfils after the hold was lost rejects
 * all the same. One whose lease ends is not
 * waited for; until it settles, its lock context knows that its hold is lost.
 */
export function withHold<T>(hold: Releasable, path: string, job: () => T | PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    hold.onExpired(reject);
    untilReleased(hold, path, job).then(resolve, reject);
  });
}

/** What a job runs under, and what is released when it settles. */
interface Releasable {
  release(): Promise<ReleaseOutcome>;
  readonly loss: LockLostError | undefined;
  /** At most one listens. */
  onExpired(listener: (error: LockLostError) => void): void;
}

/** As `withHold`, and waits for a job whose lease ends, too. */
export async function untilReleased<T>(hold: Releasable, path: string, job: () => T | PromiseLike<T>): Promise<T> {
  let result: T;
  try {
    result = await job();
  } catch (error) {
    // A release that fails, too, must not hide the error of the job.
    await hold.release().catch(() => undefined);
    throw error;
  }
  if ((await hold.release()) === 'lost') throw hold.loss ?? new NotOwnedError(path);
  refuseOutliving(result);
  return result;
}

function refuseOutliving(result: unknown): void {
  if (typeof result !== 'object' || result === null) return;
  // `in` first: there are objects that throw when they are asked for a property that they do not have.
  const isStream = 'pipe' in result && typeof result.pipe === 'function';
  const isIterator = 'next' in result && typeof result.next === 'function';
  if (isStream || isIterator || Symbol.asyncIterator in result) {
    throw new TypeError(
      'Expected `job` to return a value, got a stream or an iterator: it would be read after the lock is released',
    );
  }
}
