import { expect } from 'chai';
import { Companions } from '../../src/support/companions.ts';

class Counter {
  count = 0;
}

class Named {
  readonly owner: object;

  constructor(owner: object) {
    this.owner = owner;
  }
}

describe('companions', () => {
  it('exist once per class, are created on first use, and know their owner', () => {
    const owner = {};
    const companions = new Companions(owner);
    companions.of(Counter).count += 1;
    expect(companions.of(Counter).count).to.equal(1);
    expect(companions.of(Named).owner).to.equal(owner);
  });

  it('differ for another owner', () => {
    expect(new Companions({}).of(Counter)).not.to.equal(new Companions({}).of(Counter));
  });
});
