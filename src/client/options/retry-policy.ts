import { expectDuration, expected, expectOptions, expectPositive } from '../../support/validate.js';

/**
 * Decides whether and when to try again. It is a pure function of the attempt, so one policy serves any number of
 * operations. It is Curator's RetryPolicy, except that the caller does the sleeping, because only the caller knows its
 * deadline and its signal.
 *
 * @example
 * const decision = policy.allowRetry({ retryCount: 0, elapsedMs: 12, random: Math.random });
 * if (decision.retry) await setTimeout(decision.sleepMs);
 */
export interface RetryPolicy {
  /** Called after every failed attempt. It must not throw, wait, or keep state: all it needs is in its argument. */
  allowRetry(attempt: RetryAttempt): RetryDecision;
}

/** One failed attempt, the argument of a policy. */
export interface RetryAttempt {
  /** The number of retries so far: 0 after the first failure. */
  readonly retryCount: number;
  /** Milliseconds since the operation began, including its waits. */
  readonly elapsedMs: number;
  /** Uniform in [0, 1), such as Math.random. */
  readonly random: () => number;
}

/** The decision to give up, or to try again after `sleepMs` milliseconds. */
export type RetryDecision =
  | {
      /** Give up. */
      retry: false;
    }
  | {
      /** Try again. */
      retry: true;
      /** The wait before the retry, in milliseconds. */
      sleepMs: number;
    };

/** Options of {@link exponentialBackoff}. */
export interface ExponentialBackoffOptions {
  /** The shortest sleep, and the unit of all others, in milliseconds: finite, ≥ 0. */
  baseSleepMs: number;
  /**
   * The longest sleep, in milliseconds: finite, ≥ 0. If it is less than `baseSleepMs`, it wins.
   * @default 2147483647
   */
  maxSleepMs?: number | undefined;
  /**
   * The largest number of retries: an integer ≥ 0, or Infinity.
   * @default Infinity
   */
  maxRetries?: number | undefined;
}

/**
 * Sleeps for random times from a range that doubles with each retry, so that clients that were cut off together do not
 * come back together: `baseSleepMs × max(1, random integer in [0, 2^(n+1)))` milliseconds at retry n, limited by
 * `maxSleepMs`.
 *
 * The arithmetic is that of Curator's ExponentialBackoffRetry, and of its BoundedExponentialBackoffRetry, which differs
 * only in how the limit is passed. Curator allows at most 29 retries; here the range stops growing at n = 29 instead.
 *
 * @throws TypeError if an option is unknown or not a number, RangeError if it is out of its range
 * @example
 * exponentialBackoff({ baseSleepMs: 100, maxSleepMs: 5_000, maxRetries: 10 });
 */
export function exponentialBackoff(options: ExponentialBackoffOptions): RetryPolicy {
  const {
    baseSleepMs,
    maxSleepMs = 2 ** 31 - 1,
    maxRetries = Infinity,
  } = expectOptions('exponentialBackoff', options, ['baseSleepMs', 'maxSleepMs', 'maxRetries']);
  expectDuration('baseSleepMs', baseSleepMs);
  expectDuration('maxSleepMs', maxSleepMs);
  requireCount('maxRetries', maxRetries);
  return {
    allowRetry({ retryCount, random }) {
      if (retryCount >= maxRetries) return { retry: false };
      const range = 2 ** (Math.min(retryCount, 29) + 1);
      const factor = Math.max(1, Math.floor(random() * range));
      return { retry: true, sleepMs: Math.min(maxSleepMs, baseSleepMs * factor) };
    },
  };
}

/**
 * At most `n` retries, `sleepMs` milliseconds apart. Curator's RetryNTimes.
 *
 * @param n an integer ≥ 0, or Infinity
 * @param sleepMs finite, ≥ 0
 * @throws TypeError if an argument is not a number, RangeError if it is out of its range
 * @example
 * retryNTimes(3, 1_000);
 */
export function retryNTimes(n: number, sleepMs: number): RetryPolicy {
  requireCount('n', n);
  expectDuration('sleepMs', sleepMs);
  return { allowRetry: ({ retryCount }) => (retryCount < n ? { retry: true, sleepMs } : { retry: false }) };
}

/**
 * A single retry after `sleepMs` milliseconds. Curator's RetryOneTime.
 *
 * @param sleepMs finite, ≥ 0
 * @throws TypeError if it is not a number, RangeError if it is out of its range
 * @example
 * retryOnce(1_000);
 */
export function retryOnce(sleepMs: number): RetryPolicy {
  return retryNTimes(1, sleepMs);
}

/**
 * Retries without a limit, `intervalMs` milliseconds apart. Curator's RetryForever.
 *
 * @param intervalMs finite, > 0, because endless retries without a pause are a busy loop
 * @throws TypeError if it is not a number, RangeError if it is out of its range
 * @example
 * retryForever(1_000);
 */
export function retryForever(intervalMs: number): RetryPolicy {
  expectPositive('intervalMs', intervalMs);
  return { allowRetry: () => ({ retry: true, sleepMs: intervalMs }) };
}

/**
 * Retries `sleepMs` milliseconds apart, until the operation has taken `maxElapsedMs` milliseconds. The last sleep may
 * end later than that. Curator's RetryUntilElapsed.
 *
 * @param maxElapsedMs finite, ≥ 0
 * @param sleepMs finite, ≥ 0
 * @throws TypeError if an argument is not a number, RangeError if it is out of its range
 * @example
 * retryUntilElapsed(60_000, 1_000);
 */
export function retryUntilElapsed(maxElapsedMs: number, sleepMs: number): RetryPolicy {
  expectDuration('maxElapsedMs', maxElapsedMs);
  expectDuration('sleepMs', sleepMs);
  return { allowRetry: ({ elapsedMs }) => (elapsedMs < maxElapsedMs ? { retry: true, sleepMs } : { retry: false }) };
}

/** The default policy of a client: 100 ms to 5 s between tries, without a limit of tries. */
export const defaultRetryPolicy: RetryPolicy = exponentialBackoff({ baseSleepMs: 100, maxSleepMs: 5_000 });

function requireCount(option: string, value: unknown): void {
  if (value !== Infinity && !(typeof value === 'number' && Number.isInteger(value) && value >= 0))
    throw new (typeof value === 'number' ? RangeError : TypeError)(
      expected(option, 'an integer ≥ 0 or Infinity', value),
    );
}
