import { expect } from 'chai';
import fc from 'fast-check';
import { attemptMs, headStartMs } from '../../src/zookeeper/network/attempt-time.ts';

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

  it('is at least twice the time that the last one needed, also close to the deadline, and at most a third', () => {
    const at = (measuredMs: number, leftMs: number): number =>
      attemptMs({ sessionTimeoutMs: 10_000, unansweredRounds: 0, leftMs, measuredMs });
    expect([at(600, none), at(600, 800), at(5_000, none)].map(Math.floor)).to.deep.equal([1_200, 1_200, 3_333]);
    expect(at(1, none)).to.equal(at(0, none));
  });
});

describe('the time for which one of several addresses is dialled alone', () => {
  it('is 250 ms, or the time that the last session needed', () => {
    expect(headStartMs(10_000, 2)).to.equal(250);
    expect(headStartMs(10_000, 2, 100)).to.equal(250);
    expect(headStartMs(10_000, 2, 600)).to.equal(600);
  });

  it('lets each address be dialled, and the second one be answered, within an attempt of twice the measured time', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 3_000 }), (addresses, measuredMs) => {
        const attempt = Math.max(250, 2 * measuredMs);
        const headStart = headStartMs(attempt, addresses, measuredMs);
        expect((addresses - 1) * headStart).to.be.below(attempt);
        if (addresses === 2) expect(headStart + measuredMs).to.be.below(attempt);
      }),
    );
  });
});
