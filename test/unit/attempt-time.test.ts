import { expect } from 'chai';
import fc from 'fast-check';
import { attemptMs } from '../../src/zookeeper/attempt-time.ts';

const none = -Infinity;

describe('the time of one attempt to connect', () => {
  it('is a twenty-fourth of the session timeout at first, and doubles after each unanswered round, up to a third', () => {
    const lengths = [0, 1, 2, 3, 4, 1_000].map((unansweredRounds) =>
      attemptMs({ sessionTimeoutMs: 30_000, unansweredRounds, leftMs: none }),
    );
    expect(lengths).to.deep.equal([1_250, 2_500, 5_000, 10_000, 10_000, 10_000]);
  });

  it('is twice as long at first with TLS or SASL, and has the same upper limit', () => {
    const lengths = [0, 1, 2, 1_000].map((unansweredRounds) =>
      attemptMs({ sessionTimeoutMs: 30_000, unansweredRounds, leftMs: none, isSecure: true }),
    );
    expect(lengths).to.deep.equal([2_500, 5_000, 10_000, 10_000]);
  });

  it('is at least 250 ms, even if the session timeout or the rest of it is shorter', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 31 - 1 }),
        fc.nat(2_000),
        fc.double({ min: -1e9, max: 1e9, noNaN: true }),
        (sessionTimeoutMs, unansweredRounds, leftMs) => {
          expect(attemptMs({ sessionTimeoutMs, unansweredRounds, leftMs })).to.be.at.least(250);
        },
      ),
    );
    expect(attemptMs({ sessionTimeoutMs: 4_000, unansweredRounds: 0, leftMs: none })).to.equal(250);
  });

  it('is at most half of what is left until the deadline, and is not bounded by a deadline that has passed', () => {
    const at = (leftMs: number): number => attemptMs({ sessionTimeoutMs: 30_000, unansweredRounds: 3, leftMs });
    expect([30_000, 12_000, 2_000, 600, 400, 1, 0, -1].map(at)).to.deep.equal([
      10_000, 6_000, 1_000, 300, 250, 250, 10_000, 10_000,
    ]);
  });
});
