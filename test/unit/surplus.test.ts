import { expect } from 'chai';
import { LimitMismatchError } from '../../src/semaphore/limit-mismatch-error.ts';
import { Surplus } from '../../src/semaphore/surplus.ts';
import { ManualClock } from '../../harness/manual-clock.ts';

const stayMs = 60_000;

describe('a surplus of leases', () => {
  let clock: ManualClock;
  let surplus: Surplus;

  beforeEach(() => {
    clock = new ManualClock();
    surplus = new Surplus({ path: '/semaphore', maxLeases: 2, clock, stayMs: () => stayMs });
  });

  it('is none while there are as many as there may be, however long they stay', () => {
    for (let look = 0; look < 3; look += 1) {
      expect(surplus.look(['a', 'b'])).to.equal(Infinity);
      clock.advance(stayMs);
    }
  });

  it('is an error when it has stayed for the whole time, and not before', () => {
    expect(surplus.look(['a', 'b', 'c'])).to.equal(stayMs);
    clock.advance(stayMs - 1);
    expect(surplus.look(['a', 'b', 'c'])).to.equal(1);
    clock.advance(1);
    expect(() => surplus.look(['a', 'b', 'c'])).to.throw(
      LimitMismatchError,
      "3 znodes have stayed below /semaphore/leases, before the waiter's znode, for 60000 ms",
    );
  });

  it('is none when one of it goes in the last moment', () => {
    surplus.look(['a', 'b', 'c']);
    clock.advance(stayMs);
    expect(surplus.look(['a', 'c'])).to.equal(Infinity);
  });

  it('is counted anew from when another one came in place of one that went', () => {
    surplus.look(['a', 'b', 'c']);
    clock.advance(stayMs - 1);
    expect(surplus.look(['a', 'b', 'd'])).to.equal(stayMs);
    clock.advance(stayMs - 1);
    expect(surplus.look(['a', 'b', 'd'])).to.equal(1);
  });

  it('is judged by those that stay, whatever else comes and goes', () => {
    surplus.look(['a', 'b', 'c', 'x']);
    clock.advance(stayMs - 1);
    expect(surplus.look(['a', 'b', 'c', 'y'])).to.equal(1);
    clock.advance(1);
    expect(() => surplus.look(['a', 'b', 'c'])).to.throw(LimitMismatchError);
  });
});
