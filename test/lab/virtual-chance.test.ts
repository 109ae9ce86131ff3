import { expect } from 'chai';
import { Random } from '../../lab/random.ts';

describe('a virtual uuid', () => {
  const uuids = (seed: number): string[] => {
    const chance = new Random(seed, 0);
    return Array.from({ length: 1_000 }, () => chance.uuid());
  };

  it('is of version 4, as one of node:crypto is', () => {
    for (const uuid of [crypto.randomUUID(), ...uuids(1)])
      expect(uuid).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('depends on the seed alone, and is new each time', () => {
    expect(uuids(1)).to.deep.equal(uuids(1));
    expect(new Set([...uuids(1), ...uuids(2)])).to.have.property('size', 2_000);
  });
});
