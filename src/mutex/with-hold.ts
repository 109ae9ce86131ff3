import { isError } from '../support/error-text.js';
import { NotOwnedError } from '../internals/lock-errors.js';
import type { LockLostError } from '../client/report/lock-lost-error.js';
import type { LockHost } from '../client/lock-host.js';
import type { ReleaseOutcome } from '../internals/grant.js';

/**
 * Runs `job`, and releases `hold` when it settles, whatever the outcome. If the hold was lost, the promise rejects even
 * though the job fulfilled. A job whose lease ends is not waited for; until it settles, its lock context knows that its
 * hold is lost.
 */
export function withHold<T>(hold: Releasable, path: string, job: () => T | PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    hold.onExpired(reject);
    untilReleased(hold, path, job).then(resolve, reject);
  });
}

/** The hold under which a job runs, and which is released when the job settles. */
interface Releasable {
  release(): Promise<ReleaseOutcome>;
  readonly loss: LockLostError | undefined;
  /** Undefined for the hold of several locks, none of which is of this library. */
  readonly keeper: { readonly lock: { readonly host: LockHost } } | undefined;
  /** Accepts one listener at most. */
  onExpired(listener: (error: LockLostError) => void): void;
}

/** Like `withHold`, but also waits for a job whose lease ends. */
export async function untilReleased<T>(hold: Releasable, path: string, job: () => T | PromiseLike<T>): Promise<T> {
  let result: T;
  try {
    result = await job();
  } catch (error) {
    // If the release fails too, its error must not hide the error of the job.
    await hold.release().catch(() => undefined);
    const { loss } = hold;
    if (loss === undefined) throw error;
    if (isAbortedBy(loss, error)) throw loss;
    if (error !== loss) noteLoss(error, loss, hold, path);
    throw error;
  }
  if ((await hold.release()) === 'lost') throw hold.loss ?? new NotOwnedError(path);
  refuseOutliving(result);
  return result;
}

/**
 * The job's own error stays, and shows the loss beside it: a caller that tries again must know that another holder may
 * have worked at the same time. The property `lockLost` has the loss, and `cause` as well if the error has no cause.
 */
function noteLoss(error: unknown, loss: LockLostError, { keeper }: Releasable, path: string): void {
  keeper?.lock.host.report.warn(`A job under ${path} failed after its lock was lost (${loss.reason})`, error);
  try {
    if (!isError(error)) return;
    const shown = { value: loss, configurable: true, writable: true };
    // `Reflect`, because a frozen error stays as it is.
    if (error.cause === undefined) Reflect.defineProperty(error, 'cause', shown);
    Reflect.defineProperty(error, 'lockLost', shown);
  } catch {
    // The error of an application may throw when it is read. It must not be replaced by that.
  }
}

/**
 * True for the AbortError by which Node's timers and file calls report that a signal aborted: the signal's reason, such
 * as a loss, is its cause. `fetch` and `throwIfAborted` throw the reason itself.
 */
export function isAbortedBy(reason: unknown, error: unknown): boolean {
  try {
    // Not by `instanceof`: under Jest, errors of Node are of another realm than this file.
    const shown = (error ?? {}) as { name?: unknown; cause?: unknown };
    return shown.name === 'AbortError' && shown.cause === reason;
  } catch {
    // As in `noteLoss`.
    return false;
  }
}

function refuseOutliving(result: unknown): void {
  if (typeof result !== 'object' || result === null) return;
  // `in` comes first, because some objects throw when code reads a property that they do not have.
  const isStream = 'pipe' in result && typeof result.pipe === 'function';
  const isIterator = 'next' in result && typeof result.next === 'function';
  if (isStream || isIterator || Symbol.asyncIterator in result) {
    throw new TypeError(
      'Expected `job` to return a value, got a stream or an iterator: it would be read after the lock is released',
    );
  }
}
