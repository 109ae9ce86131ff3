import { expect } from 'chai';
import fc from 'fast-check';
import { deadlineOf, learn, unproven, type ClockEvent } from '../../src/client/session-clock.ts';

const granted = (sentAt: number, timeoutMs: number): ClockEvent => ({ is: 'granted', sentAt, timeoutMs });
const answered = (sentAt: number, answeredAt: number): ClockEvent => ({ is: 'answered', kind: 'write', sentAt, answeredAt });
const after = (...events: ClockEvent[]): number => deadlineOf(events.reduce(learn, unproven));

describe('the session clock', () => {
  it('gives no time at all before a server has granted any', () => {
    expect(after()).to.equal(-Infinity);
  });

  it('counts from when a request was sent, not from when it was answered', () => {
    expect(after(granted(100, 10_000))).to.equal(9_100);
    expect(after(granted(100, 10_000), answered(2_000, 7_000))).to.equal(11_000);
  });

  it('keeps the shortest timeout that was ever granted', () => {
    expect(after(granted(0, 4_000), granted(1_000, 10_000))).to.equal(1_000 + 3_600);
  });

  it('learns nothing from a lost connection', () => {
    expect(after(granted(0, 4_000), { is: 'disconnected' })).to.equal(3_600);
  });

  it('never moves back for one timeout, and never lies beyond the newest request sent plus the timeout', () => {
    const events = fc.array(fc.record({ sentAt: fc.nat(100_000), tookMs: fc.nat(10_000) }), { maxLength: 50 });
    fc.assert(
      fc.property(events, (all) => {
        let proof = learn(unproven, granted(0, 4_000));
        let newest = 0;
        for (const { sentAt, tookMs } of all) {
          const before = deadlineOf(proof);
          proof = learn(proof, answered(sentAt, sentAt + tookMs));
          newest = Math.max(newest, sentAt);
          expect(deadlineOf(proof)).to.be.at.least(before);
          expect(deadlineOf(proof)).to.be.at.most(newest + 4_000);
        }
      }),
    );
  });
});
