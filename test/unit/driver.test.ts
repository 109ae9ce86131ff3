import { expect } from 'chai';
import type { LockDriver } from '../../src/driver/lock-driver.js';
import { StandardDriver, standardDriver } from '../../src/driver/standard-driver.js';

const first = '_c_ffffffff-0000-4000-8000-000000000001-lock-0000000001';
const second = 'lock-0000000002';
const third = '_c_00000000000040008000000000000003-lock-0000000003';
const queue = [first, second, third];

describe('the standard driver', () => {
  it('is a LockDriver whose newcomers always sort last', () => {
    const driver: LockDriver = standardDriver;
    expect(driver).to.be.instanceOf(StandardDriver);
    expect(driver.lockName).to.equal('lock-');
    expect(driver.appendOnly).to.equal(true);
  });

  describe('sort', () => {
    it('sorts by the text after the lock name, with any text before it', () => {
      expect(standardDriver.sort([third, first, second])).to.deep.equal(queue);
    });

    it('sorts by the text after the last lock name if a name has several', () => {
      const twice = 'lock-9999999999-lock-0000000002';
      expect(standardDriver.sort([third, twice, first])).to.deep.equal([first, twice, third]);
    });

    it('sorts by the whole name if the lock name is missing', () => {
      expect(standardDriver.sort(['zebra', first, '00000'])).to.deep.equal(['00000', first, 'zebra']);
    });

    it('puts numbers after an overflow first and in reverse, as Java clients do', () => {
      const names = ['lock-2147483647', 'lock--2147483648', 'lock--000000001'];
      expect(standardDriver.sort(names)).to.deep.equal(['lock--000000001', 'lock--2147483648', 'lock-2147483647']);
    });

    it('compares UTF-16 code units, as Java does, and neither code points nor by locale', () => {
      const names = ['lock-a', 'lock-\u{1f600}', 'lock-\uff5e', 'lock-Z', 'lock-é'];
      expect(standardDriver.sort(names)).to.deep.equal(['lock-Z', 'lock-a', 'lock-é', 'lock-\u{1f600}', 'lock-\uff5e']);
    });

    it('keeps names with the same key in the given order', () => {
      const names = Array.from({ length: 100 }, (_, index) => `${99 - index}-lock-0000000007`);
      expect(standardDriver.sort(names)).to.deep.equal(names);
    });

    it('does not change its argument', () => {
      const children = Object.freeze([third, first]);
      expect(standardDriver.sort(children)).to.deep.equal([first, third]);
      expect(children).to.deep.equal([third, first]);
    });

    it('reads each of 10,000 names once, not once per comparison', () => {
      let looks = 0;
      const texts = Array.from(
        { length: 10_000 },
        (_, index) => `lock-${String((index * 7919) % 10_000).padStart(10, '0')}`,
      );
      const names = texts.map((text) => {
        const lastIndexOf = (part: string) => (looks++, text.lastIndexOf(part));
        return Object.assign(Object(text) as string, { lastIndexOf });
      });
      expect(standardDriver.sort(names).map(String)).to.deep.equal(texts.toSorted());
      expect(looks).to.equal(10_000);
    });
  });

  describe('decide', () => {
    it('grants the first', () => {
      expect(standardDriver.decide(queue, first)).to.deep.equal({ held: true });
    });

    it('makes every other one watch its predecessor', () => {
      expect(standardDriver.decide(queue, second)).to.deep.equal({ held: false, watch: first });
      expect(standardDriver.decide(queue, third)).to.deep.equal({ held: false, watch: second });
    });

    it('throws for a name that is not in the list, with the name', () => {
      expect(() => standardDriver.decide([first], second)).to.throw(
        RangeError,
        'lock-0000000002 is not among the 1 children',
      );
    });
  });
});
