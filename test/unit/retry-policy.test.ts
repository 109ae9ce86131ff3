import { expect } from 'chai';
import {
  type ExponentialBackoffOptions,
  defaultRetryPolicy,
  exponentialBackoff,
  retryForever,
  retryNTimes,
  retryOnce,
  retryUntilElapsed,
} from '../../src/client/options/retry-policy.js';

const lowest = () => 0;
const highest = () => 1 - 2 ** -53;
const half = () => 0.5;

function attempt(retryCount: number, random = half, elapsedMs = 0) {
  return { retryCount, elapsedMs, random };
}

describe('exponential back-off', () => {
  it('sleeps base times a random integer below 2^(n+1)', () => {
    const policy = exponentialBackoff({ baseSleepMs: 10 });
    expect(policy.allowRetry(attempt(0, highest))).to.deep.equal({ retry: true, sleepMs: 10 });
    expect(policy.allowRetry(attempt(1, highest))).to.deep.equal({ retry: true, sleepMs: 30 });
    expect(policy.allowRetry(attempt(4, highest))).to.deep.equal({ retry: true, sleepMs: 310 });
    expect(policy.allowRetry(attempt(4, half))).to.deep.equal({ retry: true, sleepMs: 160 });
    expect(policy.allowRetry(attempt(4, () => 0.99))).to.deep.equal({ retry: true, sleepMs: 310 });
  });

  it('never sleeps for less than the base', () => {
    expect(exponentialBackoff({ baseSleepMs: 10 }).allowRetry(attempt(4, lowest))).to.deep.equal({
      retry: true,
      sleepMs: 10,
    });
  });

  it('never sleeps for more than the maximum, even if that is below the base', () => {
    const most = { retry: true, sleepMs: 50 };
    expect(exponentialBackoff({ baseSleepMs: 10, maxSleepMs: 50 }).allowRetry(attempt(9, highest))).to.deep.equal(most);
    expect(exponentialBackoff({ baseSleepMs: 90, maxSleepMs: 50 }).allowRetry(attempt(0, lowest))).to.deep.equal(most);
  });

  it('has a maximum of 2^31 - 1 ms by default', () => {
    expect(exponentialBackoff({ baseSleepMs: 1_000 }).allowRetry(attempt(29, highest))).to.deep.equal({
      retry: true,
      sleepMs: 2 ** 31 - 1,
    });
  });

  it('stops widening its range after retry 29', () => {
    const policy = exponentialBackoff({ baseSleepMs: 1 });
    const widest = { retry: true, sleepMs: 2 ** 30 - 1 };
    expect(policy.allowRetry(attempt(29, highest))).to.deep.equal(widest);
    expect(policy.allowRetry(attempt(30, highest))).to.deep.equal(widest);
    expect(policy.allowRetry(attempt(5_000, highest))).to.deep.equal(widest);
  });

  it('allows exactly maxRetries retries', () => {
    const policy = exponentialBackoff({ baseSleepMs: 10, maxRetries: 2 });
    expect([0, 1, 2, 3].map((n) => policy.allowRetry(attempt(n)).retry)).to.deep.equal([true, true, false, false]);
    expect(exponentialBackoff({ baseSleepMs: 10, maxRetries: 0 }).allowRetry(attempt(0))).to.deep.equal({
      retry: false,
    });
  });

  it('has no limit of retries by default', () => {
    expect(exponentialBackoff({ baseSleepMs: 10 }).allowRetry(attempt(1e9)).retry).to.equal(true);
  });

  it("is a client's default, from 100 ms to 5 s", () => {
    expect(defaultRetryPolicy.allowRetry(attempt(0, lowest))).to.deep.equal({ retry: true, sleepMs: 100 });
    expect(defaultRetryPolicy.allowRetry(attempt(5, highest))).to.deep.equal({ retry: true, sleepMs: 5_000 });
    expect(defaultRetryPolicy.allowRetry(attempt(1e9, highest))).to.deep.equal({ retry: true, sleepMs: 5_000 });
  });
});

describe('retryNTimes', () => {
  it('allows exactly n retries with the same delay', () => {
    const policy = retryNTimes(2, 30);
    expect(policy.allowRetry(attempt(1))).to.deep.equal({ retry: true, sleepMs: 30 });
    expect(policy.allowRetry(attempt(2))).to.deep.equal({ retry: false });
    expect(retryNTimes(0, 0).allowRetry(attempt(0))).to.deep.equal({ retry: false });
  });
});

describe('retryOnce', () => {
  it('allows one retry', () => {
    expect(retryOnce(30).allowRetry(attempt(0))).to.deep.equal({ retry: true, sleepMs: 30 });
    expect(retryOnce(30).allowRetry(attempt(1))).to.deep.equal({ retry: false });
  });
});

describe('retryForever', () => {
  it('allows every retry with the same delay', () => {
    expect(retryForever(0.5).allowRetry(attempt(1e9, half, 1e12))).to.deep.equal({ retry: true, sleepMs: 0.5 });
  });
});

describe('retryUntilElapsed', () => {
  it('allows retries while less than the maximum has passed', () => {
    const policy = retryUntilElapsed(100, 30);
    expect(policy.allowRetry(attempt(1e9, half, 99))).to.deep.equal({ retry: true, sleepMs: 30 });
    expect(policy.allowRetry(attempt(0, half, 100))).to.deep.equal({ retry: false });
  });
});

describe('a retry policy refuses', () => {
  const duration = 'a finite number of milliseconds ≥ 0';
  const count = 'an integer ≥ 0 or Infinity';
  const backoff = (options: object) => () => exponentialBackoff(options as ExponentialBackoffOptions);
  const cases: [string, () => unknown, typeof TypeError | typeof RangeError, string][] = [
    [
      'no options',
      () => (exponentialBackoff as () => unknown)(),
      TypeError,
      'Expected `exponentialBackoff options` to be a plain object with baseSleepMs, maxSleepMs, maxRetries, got undefined',
    ],
    [
      'null options',
      () => exponentialBackoff(null as never),
      TypeError,
      'Expected `exponentialBackoff options` to be a plain object with baseSleepMs, maxSleepMs, maxRetries, got null',
    ],
    [
      'number options',
      () => exponentialBackoff(100 as never),
      TypeError,
      'Expected `exponentialBackoff options` to be a plain object with baseSleepMs, maxSleepMs, maxRetries, got 100',
    ],
    ['options that are a Map', backoff(new Map([['baseSleepMs', 100]])), TypeError, 'got a Map'],
    [
      'a misspelt option',
      backoff({ baseSleepMs: 100, maxRetry: 3 }),
      TypeError,
      'Unknown option `maxRetry` of exponentialBackoff: accepted are baseSleepMs, maxSleepMs, maxRetries',
    ],
    [
      'no base',
      backoff({}),
      TypeError,
      'Expected `baseSleepMs` to be a finite number of milliseconds ≥ 0, got undefined',
    ],
    [
      'a string as base',
      backoff({ baseSleepMs: '1' }),
      TypeError,
      'Expected `baseSleepMs` to be a finite number of milliseconds ≥ 0, got "1"',
    ],
    ['a negative base', backoff({ baseSleepMs: -1 }), RangeError, `Expected \`baseSleepMs\` to be ${duration}, got -1`],
    [
      'an infinite base',
      backoff({ baseSleepMs: Infinity }),
      RangeError,
      `Expected \`baseSleepMs\` to be ${duration}, got Infinity`,
    ],
    [
      'a NaN maximum',
      backoff({ baseSleepMs: 1, maxSleepMs: NaN }),
      RangeError,
      `Expected \`maxSleepMs\` to be ${duration}, got NaN`,
    ],
    [
      'half a retry',
      backoff({ baseSleepMs: 1, maxRetries: 0.5 }),
      RangeError,
      `Expected \`maxRetries\` to be ${count}, got 0.5`,
    ],
    [
      'negative retries',
      backoff({ baseSleepMs: 1, maxRetries: -1 }),
      RangeError,
      `Expected \`maxRetries\` to be ${count}, got -1`,
    ],
    [
      'null retries',
      backoff({ baseSleepMs: 1, maxRetries: null }),
      TypeError,
      `Expected \`maxRetries\` to be ${count}, got null`,
    ],
    ['a negative n', () => retryNTimes(-1, 1), RangeError, `Expected \`n\` to be ${count}, got -1`],
    ['a negative sleep', () => retryNTimes(1, -1), RangeError, `Expected \`sleepMs\` to be ${duration}, got -1`],
    ['a negative single sleep', () => retryOnce(-1), RangeError, `Expected \`sleepMs\` to be ${duration}, got -1`],
    [
      'no interval',
      () => retryForever(0),
      RangeError,
      'Expected `intervalMs` to be a finite number of milliseconds > 0, got 0',
    ],
    [
      'an infinite interval',
      () => retryForever(Infinity),
      RangeError,
      'Expected `intervalMs` to be a finite number of milliseconds > 0, got Infinity',
    ],
    [
      'a negative time',
      () => retryUntilElapsed(-1, 1),
      RangeError,
      `Expected \`maxElapsedMs\` to be ${duration}, got -1`,
    ],
    [
      'a negative sleep in it',
      () => retryUntilElapsed(1, -1),
      RangeError,
      `Expected \`sleepMs\` to be ${duration}, got -1`,
    ],
  ];
  for (const [what, build, type, message] of cases)
    it(what, () => {
      expect(build).to.throw(type, message);
    });
});
