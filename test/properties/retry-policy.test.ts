import { expect } from 'chai';
import fc from 'fast-check';
import { exponentialBackoff, retryUntilElapsed, type RetryDecision } from '../../src/client/options/retry-policy.js';

const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const durations = fc.double({ min: 0, max: 2 ** 40, noNaN: true });
const retryCounts = fc.oneof(fc.nat(40), fc.nat());

function sleepOf(decision: RetryDecision): number {
  if (!decision.retry) throw new Error('Expected another retry');
  return decision.sleepMs;
}

describe('exponential back-off, for any random numbers', () => {
  it('sleeps at least base and at most max', () => {
    fc.assert(
      fc.property(durations, durations, retryCounts, chance, (one, other, retryCount, value) => {
        const [baseSleepMs, maxSleepMs] = one < other ? [one, other] : [other, one];
        const policy = exponentialBackoff({ baseSleepMs, maxSleepMs });
        expect(sleepOf(policy.allowRetry({ retryCount, elapsedMs: 0, random: () => value }))).to.be.within(
          baseSleepMs,
          maxSleepMs,
        );
      }),
    );
  });

  it('sleeps a whole multiple of base below base × 2^(n+1), as Curator does', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), fc.nat(29), chance, (baseSleepMs, retryCount, value) => {
        const policy = exponentialBackoff({ baseSleepMs, maxSleepMs: Number.MAX_SAFE_INTEGER });
        const sleepMs = sleepOf(policy.allowRetry({ retryCount, elapsedMs: 0, random: () => value }));
        expect(sleepMs % baseSleepMs).to.equal(0);
        expect(sleepMs).to.be.lessThan(baseSleepMs * 2 ** (retryCount + 1));
        expect(sleepMs).to.equal(baseSleepMs * Math.max(1, Math.trunc(value * 2 ** (retryCount + 1))));
      }),
    );
  });

  it('never sleeps for less at a later retry with the same random number', () => {
    fc.assert(
      fc.property(durations, durations, retryCounts, chance, (baseSleepMs, maxSleepMs, retryCount, value) => {
        const policy = exponentialBackoff({ baseSleepMs, maxSleepMs });
        const at = (n: number) => sleepOf(policy.allowRetry({ retryCount: n, elapsedMs: 0, random: () => value }));
        expect(at(retryCount + 1)).to.be.at.least(at(retryCount));
      }),
    );
  });

  it('uses one random number per retry', () => {
    fc.assert(
      fc.property(retryCounts, chance, (retryCount, value) => {
        let asked = 0;
        exponentialBackoff({ baseSleepMs: 1 }).allowRetry({ retryCount, elapsedMs: 0, random: () => (asked++, value) });
        expect(asked).to.equal(1);
      }),
    );
  });
});

describe('retryUntilElapsed, for any time on the clock', () => {
  it('allows a retry exactly before its time is over', () => {
    fc.assert(
      fc.property(durations, durations, retryCounts, (maxElapsedMs, elapsedMs, retryCount) => {
        const decision = retryUntilElapsed(maxElapsedMs, 1).allowRetry({ retryCount, elapsedMs, random: Math.random });
        expect(decision.retry).to.equal(elapsedMs < maxElapsedMs);
      }),
    );
  });
});
