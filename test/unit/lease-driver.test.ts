import { expect } from 'chai';
import { LeaseDriver } from '../../src/semaphore/lease-driver.ts';

const driverOf = (maxLeases: number): LeaseDriver => new LeaseDriver(() => maxLeases);

const uuids = [
  '9d3a40af-0a1b-4c2d-8e3f-405162738495',
  '1d3a40af-0a1b-4c2d-8e3f-405162738495',
  '5d3a40af-0a1b-4c2d-8e3f-405162738495',
];
const [first = '', second = '', third = ''] = uuids.map((uuid, index) => `_c_${uuid}-lease-000000000${index}`);

describe('the driver of leases', () => {
  it('sorts by the sequence, with any uuids, and does not change its argument', () => {
    const children = [third, first, second];
    expect(driverOf(1).sort(children)).to.deep.equal([first, second, third]);
    expect(children).to.deep.equal([third, first, second]);
  });

  for (const [maxLeases, held] of [
    [-1, [false, false, false]],
    [0, [false, false, false]],
    [1, [true, false, false]],
    [2, [true, true, false]],
    [3, [true, true, true]],
  ] as const)
    it(`with ${maxLeases} leases grants the first ${Math.max(0, maxLeases)}`, () => {
      expect(
        [first, second, third].map((ours) => driverOf(maxLeases).decide([first, second, third], ours).held),
      ).to.deep.equal(held);
    });

  it('grants no znode that Java would not grant: with at most `maxLeases` children all are granted', () => {
    for (let children = 1; children <= 3; children += 1) {
      const sorted = [first, second, third].slice(0, children);
      for (const ours of sorted) expect(driverOf(children).decide(sorted, ours).held).to.equal(true);
    }
  });

  it('throws for a znode that does not exist', () => {
    expect(() => driverOf(1).decide([first], second)).to.throw(RangeError, second);
  });
});
