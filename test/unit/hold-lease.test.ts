import { expect } from 'chai';
import { HoldLease } from '../../src/mutex/hold-lease.ts';
import { ManualClock } from '../../lab/manual-clock.ts';

describe('the lease of a hold', () => {
  const clock = (): ManualClock => new ManualClock();
  /** A holder under a lease, with the events that it gets. */
  const holderOf = (lease: HoldLease): { told: string[]; leave: () => void } => {
    const told: string[] = [];
    return {
      told,
      leave: lease.join({ leaseEnded: () => told.push('ended'), leaseRenewed: () => told.push('renewed') }),
    };
  };

  it('ends when its time is over, and not before', () => {
    const time = clock();
    const lease = new HoldLease(time, { leaseMs: 5_000 });
    const { told } = holderOf(lease);
    time.advance(4_999);
    expect([lease.isOver, told]).to.deep.equal([false, []]);
    time.advance(1);
    expect([lease.isOver, told]).to.deep.equal([true, ['ended']]);
    expect(time.timers).to.equal(0);
  });

  it('ends once, and stays ended', () => {
    const time = clock();
    const lease = new HoldLease(time, { leaseMs: 10 });
    const { told } = holderOf(lease);
    time.advance(10);
    time.advance(1_000);
    expect([lease.isOver, told]).to.deep.equal([true, ['ended']]);
  });

  it('has ended at the first check after a stall, before any timer has run, and notifies the holder', () => {
    const time = clock();
    const lease = new HoldLease(time, { leaseMs: 5_000 });
    const { told } = holderOf(lease);
    time.stall(5_000);
    expect(told).to.deep.equal([]);
    expect(lease.isOver).to.equal(true);
    expect(told).to.deep.equal(['ended']);
  });

  it('counts the time that the machine sleeps, and its end is reported within a second after the machine wakes', () => {
    const time = clock();
    const { told } = holderOf(new HoldLease(time, { leaseMs: 60_000 }));
    time.advance(500);
    time.sleep(59_500);
    expect(told).to.deep.equal([]);
    time.advance(1_000);
    expect(told).to.deep.equal(['ended']);
  });

  it('may be longer than any timer of the system', () => {
    const time = clock();
    const lease = new HoldLease(time, { leaseMs: Number.MAX_SAFE_INTEGER });
    const { told } = holderOf(lease);
    time.advance(100_000);
    expect([lease.isOver, told, time.timers]).to.deep.equal([false, [], 1]);
  });

  describe('that is renewed', () => {
    it('lasts that long from then on, longer or shorter than before', () => {
      const time = clock();
      const lease = new HoldLease(time, { leaseMs: 5_000 });
      const { told } = holderOf(lease);
      time.advance(4_000);
      lease.renew(10_000);
      expect(lease.leaseMs).to.equal(10_000);
      time.advance(9_999);
      expect(lease.isOver).to.equal(false);
      lease.renew(200);
      time.advance(200);
      expect(told).to.deep.equal(['ended']);
    });

    it('automatically lasts as long as timers run', () => {
      const time = clock();
      const lease = new HoldLease(time, { leaseMs: 900, renewEveryMs: 300 });
      const { told } = holderOf(lease);
      time.advance(3_000);
      expect(lease.isOver).to.equal(false);
      expect(told).to.deep.equal(Array.from({ length: 10 }, () => 'renewed'));
      expect(lease.endsAt - time.now()).to.equal(900);
    });

    it('automatically is renewed within a second after a sleeping machine wakes', () => {
      const time = clock();
      const lease = new HoldLease(time, { leaseMs: 60_000, renewEveryMs: 20_000 });
      const { told } = holderOf(lease);
      time.sleep(50_000);
      time.advance(1_000);
      expect(told).to.deep.equal(['renewed']);
      expect(lease.endsAt - time.now()).to.equal(60_000);
    });

    it('automatically has ended after a stall that was longer, whichever timer runs first', () => {
      const time = clock();
      const lease = new HoldLease(time, { leaseMs: 900, renewEveryMs: 300 });
      const { told } = holderOf(lease);
      time.stall(900);
      time.advance(0);
      expect([lease.isOver, told, time.timers]).to.deep.equal([true, ['ended'], 0]);
    });

    it('automatically continues with the time of a manual renewal, if that is not too short', () => {
      const time = clock();
      const lease = new HoldLease(time, { leaseMs: 900, renewEveryMs: 300 });
      holderOf(lease);
      lease.renew(2_000);
      time.advance(600);
      expect(lease.endsAt - time.now()).to.equal(2_000);
      expect(() => lease.renew(300)).to.throw(
        RangeError,
        'Expected `renewEveryMs` to be less than `leaseMs`, which is 300, got 300',
      );
      expect(lease.leaseMs).to.equal(2_000);
    });
  });

  describe('of several holds', () => {
    it('ends all remaining holds, and runs until the last one is released', () => {
      const time = clock();
      const lease = new HoldLease(time, { leaseMs: 100, renewEveryMs: 50 });
      const [first, second, third] = [holderOf(lease), holderOf(lease), holderOf(lease)];
      first.leave();
      time.stall(100);
      expect(lease.isOver).to.equal(true);
      expect([first.told, second.told, third.told]).to.deep.equal([[], ['ended'], ['ended']]);
      const other = new HoldLease(time, { leaseMs: 100, renewEveryMs: 50 });
      const [fourth, fifth] = [holderOf(other), holderOf(other)];
      fourth.leave();
      expect(time.timers).to.equal(1);
      fifth.leave();
      expect(time.timers).to.equal(0);
    });

    it('does not run for a hold that is made of other holds', () => {
      const time = clock();
      const lease = new HoldLease(time, { leaseMs: 100, renewEveryMs: 50 });
      const part = holderOf(lease);
      lease.join({ leaseEnded: () => undefined, leaseRenewed: () => undefined }, { keeps: false });
      expect(time.timers).to.equal(1);
      part.leave();
      expect(time.timers).to.equal(0);
    });
  });
});
