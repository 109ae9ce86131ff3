import { expect } from 'chai';
import { LimitMismatchError } from '../../src/semaphore/limit-mismatch-error.ts';
import { Surplus } from '../../src/semaphore/surplus.ts';
import { ManualClock } from '../../lab/manual-clock.ts';

const stayMs = 60_000;

describe('a surplus of leases', () => {
  let clock: ManualClock;
  let surplus: Surplus;

  beforeEach(() => {
    clock = new ManualClock();
    surplus = new Surplus({ path: '/semaphore', maxLeases: 2, clock, stayMs: () => stayMs });
  });

  it('does not exist while there are no more leases than allowed, for any time', () => {
    for (let look = 0; look < 3; look += 1) {
      expect(surplus.look(['a', 'b'])).to.equal(Infinity);
      clock.advance(stayMs);
    }
  });

  it('is an error when it has lasted for the whole time, and not before', () => {
    expect(surplus.look(['a', 'b', 'c'])).to.equal(stayMs);
    clock.advance(stayMs - 1);
    expect(surplus.look(['a', 'b', 'c'])).to.equal(1);
    clock.advance(1);
    expect(() => surplus.look(['a', 'b', 'c'])).to.throw(
      LimitMismatchError,
      "3 znodes have stayed below /semaphore/leases, before the waiter's znode, for 60000 ms",
    );
  });

  it('is no error if one of its leases disappears at the last moment', () => {
    surplus.look(['a', 'b', 'c']);
    clock.advance(stayMs);
    expect(surplus.look(['a', 'c'])).to.equal(Infinity);
  });

  it('is counted anew from the time when another lease replaced one that disappeared', () => {
    surplus.look(['a', 'b', 'c']);
    clock.advance(stayMs - 1);
    expect(surplus.look(['a', 'b', 'd'])).to.equal(stayMs);
    clock.advance(stayMs - 1);
    expect(surplus.look(['a', 'b', 'd'])).to.equal(1);
  });

  it('is judged by the leases that stay, whatever other leases come and go', () => {
    surplus.look(['a', 'b', 'c', 'x']);
    clock.advance(stayMs - 1);
    expect(surplus.look(['a', 'b', 'c', 'y'])).to.equal(1);
    clock.advance(1);
    expect(() => surplus.look(['a', 'b', 'c'])).to.throw(LimitMismatchError);
  });
});
