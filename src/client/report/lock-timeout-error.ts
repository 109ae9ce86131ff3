import { LockError } from '../../support/lock-error.js';
import type { ConnectionState } from './connection-state.js';
import {
  timeoutText,
  type KnownAtTimeout,
  type KnownHolder,
  type TimedOut,
  type TimeoutReason,
} from './timeout-text.js';

/**
 * The call did not finish within `timeoutMs`: the lock was not acquired, or not released by force, or the servers did
 * not answer. The znode of an acquire is deleted in the background. The reason in the error is what this process knew
 * at that moment: no server was asked.
 *
 * @example
 * if (error instanceof LockTimeoutError && error.reason === 'no-answer') alarm(error.message, error.cause); // an outage
 */
export class LockTimeoutError extends LockError {
  /** The path of the lock, or of the participant, that the call waited for. */
  readonly path: string;
  /** The timeout of the call, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * See {@link TimeoutReason}; undefined where no reason is known, for example for a lock of your own, or for a lock of
   * a multi-lock for which no time was left.
   */
  readonly reason: TimeoutReason | undefined;
  /**
   * The number of participants before this waiter, the holder included, when its place was read last. Undefined if its
   * place was never read, because the acquire had no place or needed no list of the queue.
   */
  readonly position: number | undefined;
  /** The holder of the lock, as far as this process knew. */
  readonly holder: KnownHolder | undefined;
  /** The value of `client.state` at that moment. */
  readonly connectionState: ConnectionState | undefined;
  readonly #what: TimedOut;
  readonly #known: KnownAtTimeout;

  static {
    this.prototype.name = 'LockTimeoutError';
  }

  constructor(path: string, timeoutMs: number, what?: TimedOut);
  /** @internal */
  constructor(path: string, timeoutMs: number, what: TimedOut | undefined, known: KnownAtTimeout);
  constructor(path: string, timeoutMs: number, what: TimedOut = 'acquired', known: KnownAtTimeout = {}) {
    super(
      'ERR_LOCK_TIMEOUT',
      timeoutText(path, timeoutMs, what, known),
      known.cause === undefined ? undefined : { cause: known.cause },
    );
    this.path = path;
    this.timeoutMs = timeoutMs;
    this.reason = known.reason;
    this.position = known.position;
    this.holder = known.holder;
    this.connectionState = known.connectionState;
    this.#what = what;
    this.#known = known;
  }

  /**
   * @internal Returns the same error with more details. It is created where the caller waits, so that its stack leads
   * there.
   */
  with(more: KnownAtTimeout, timeoutMs = this.timeoutMs): LockTimeoutError {
    return new LockTimeoutError(this.path, timeoutMs, this.#what, { ...this.#known, ...more });
  }
}
