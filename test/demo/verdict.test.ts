import { expect } from 'chai';
import fc from 'fast-check';
import { handOverMs } from '../../demo/hand-over.ts';
import type { Visit } from '../../demo/job.ts';
import { countOverlaps, handOversOf, isGood, isOrderKept, judge, median, table } from '../../demo/verdict.ts';

interface Times {
  readonly asked?: number;
  readonly granted: number;
  readonly left: number;
}

/** The `job`-th znode of the lock; times in milliseconds. */
function visit(job: number, { asked = 0, granted, left }: Times): Visit {
  return {
    worker: 1,
    job,
    askedAt: nanoseconds(asked),
    grantedAt: nanoseconds(granted),
    leftAt: nanoseconds(left),
    token: BigInt(100 + job),
    path: `/demo/jobs/_c_00000000-0000-4000-8000-000000000000-lock-${String(job).padStart(10, '0')}`,
    metAnotherJob: false,
  };
}

function nanoseconds(ms: number): bigint {
  return BigInt(Math.round(ms * 1e6));
}

const first = visit(1, { granted: 10, left: 30 });
const second = visit(2, { granted: 31, left: 50 });
const third = visit(3, { granted: 54, left: 70 });
const oneAfterAnother = [first, second, third];

/** Visits one after the other, with gaps of zero or more. */
const turns = fc
  .array(fc.record({ gap: fc.nat(5), stay: fc.integer({ min: 1, max: 50 }) }), { minLength: 2, maxLength: 20 })
  .map((stays) => {
    let at = 0;
    return stays.map(({ gap, stay }, index) => {
      const granted = at + gap;
      at = granted + stay;
      return visit(index + 1, { granted, left: at });
    });
  });

describe("the demo's verdict", () => {
  describe('countOverlaps', () => {
    it('is 0 for visits one after the other, reported in any order', () => {
      fc.assert(
        fc.property(
          turns.chain((visits) => fc.shuffledSubarray(visits, { minLength: visits.length })),
          (visits) => countOverlaps(visits) === 0,
        ),
      );
    });

    it('is 1 if one visit begins a nanosecond before its predecessor ends', () => {
      fc.assert(
        fc.property(turns, fc.nat(), (visits, pick) => {
          const late = 1 + (pick % (visits.length - 1));
          const planted = visits.map((own, index) =>
            index === late ? { ...own, grantedAt: (visits[late - 1]?.leftAt ?? 0n) - 1n } : own,
          );
          return countOverlaps(planted) === 1;
        }),
      );
    });

    it('counts every pair: a visit during two others overlaps both', () => {
      const stayer = visit(4, { granted: 20, left: 60 });
      expect(countOverlaps([...oneAfterAnother, stayer])).to.equal(3);
    });

    it('counts a visit that lies within another', () => {
      expect(countOverlaps([visit(1, { granted: 0, left: 100 }), visit(2, { granted: 40, left: 41 })])).to.equal(1);
    });

    it('does not count a visit that begins at the instant at which another ends', () => {
      expect(countOverlaps([visit(1, { granted: 0, left: 10 }), visit(2, { granted: 10, left: 20 })])).to.equal(0);
    });
  });

  describe('isOrderKept', () => {
    it('is true if grants follow the order of creation, reported in any order', () => {
      expect(isOrderKept([third, first, second])).to.equal(true);
    });

    it('is false if two visits have swapped their turns', () => {
      const swapped = [
        first,
        { ...second, token: third.token, path: third.path },
        { ...third, token: second.token, path: second.path },
      ];
      expect(isOrderKept(swapped)).to.equal(false);
    });

    it('is false if only the tokens are swapped', () => {
      expect(
        isOrderKept([
          { ...first, token: second.token },
          { ...second, token: first.token },
        ]),
      ).to.equal(false);
    });

    it('is false if only the sequence numbers are swapped', () => {
      expect(
        isOrderKept([
          { ...first, path: second.path },
          { ...second, path: first.path },
        ]),
      ).to.equal(false);
    });

    it('is false if a token occurs twice', () => {
      expect(isOrderKept([first, { ...second, token: first.token }])).to.equal(false);
    });

    it('is false if a znode has no sequence number', () => {
      expect(isOrderKept([first, { ...second, path: '/demo/jobs/second' }])).to.equal(false);
    });
  });

  describe('handOverMs', () => {
    it('is the time from the release to the next grant', () => {
      expect(handOverMs(second, third)).to.equal(4);
    });

    it('is undefined for the first visit, for a lock that was free when the job asked, and for two visits that overlap', () => {
      expect(handOverMs(undefined, first)).to.equal(undefined);
      expect(handOverMs(first, visit(2, { asked: 40, granted: 41, left: 50 }))).to.equal(undefined);
      expect(handOverMs(first, visit(2, { granted: 29, left: 50 }))).to.equal(undefined);
    });

    it('is measured between neighbours in time', () => {
      expect(handOversOf([third, first, second])).to.deep.equal([1, 4]);
    });
  });

  describe('median', () => {
    it('is the middle value, or the mean of the two middle values', () => {
      expect(median([9, 1, 2])).to.equal(2);
      expect(median([10, 2, 1, 4])).to.equal(3);
    });

    it('is undefined for an empty list', () => {
      expect(median([])).to.equal(undefined);
    });
  });

  describe('isGood', () => {
    const good = judge(oneAfterAnother, 3, 70);

    it('is true if all jobs were done, one at a time, in order', () => {
      expect(isGood(good)).to.equal(true);
    });

    it('is false after a missing job, an overlap, a meeting, or a broken order', () => {
      expect(isGood(judge(oneAfterAnother, 4, 70))).to.equal(false);
      expect(isGood(judge([first, second, { ...third, grantedAt: second.grantedAt + 1n }], 3, 70))).to.equal(false);
      expect(isGood(judge([first, second, { ...third, metAnotherJob: true }], 3, 70))).to.equal(false);
      expect(isGood(judge([first, third, { ...second, token: 1n }], 3, 70))).to.equal(false);
    });
  });

  describe('table', () => {
    it('prints the measurements', () => {
      expect(
        table(judge(oneAfterAnother, 3, 1_234))
          .split('\n')
          .map((line) => line.trim()),
      ).to.deep.equal([
        'jobs 3',
        'overlaps 0',
        'met another job inside 0',
        'order kept yes',
        'median wait 31 ms',
        'median hand-over 2.5 ms',
        'took 1.2 s',
      ]);
    });

    it('prints dashes if nothing was measured', () => {
      const lines = table(judge([], 3, 0))
        .split('\n')
        .map((line) => line.trim());
      expect(lines).to.include.members(['jobs 0 of 3', 'median wait -', 'median hand-over -']);
    });

    it('prints the failures', () => {
      const swapped = { ...second, token: first.token, grantedAt: first.leftAt - 1n, metAnotherJob: true };
      const lines = table(judge([first, swapped], 2, 50))
        .split('\n')
        .map((line) => line.trim());
      expect(lines).to.include.members(['overlaps 1', 'met another job inside 1', 'order kept no']);
    });
  });
});
