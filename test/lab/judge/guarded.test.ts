import { expect } from 'chai';
import { calm } from './support/script.ts';

describe('guarded writes in a history', () => {
  const twoHolders = (first: number, second: number): string[] =>
    calm()
      .hold('c1', 'x', { call: 1_000, granted: 1_001, token: 10 })
      .own('c1', 'x', 1_002, { type: 'guarded', zxid: String(first) })
      .release('c1', 'x', 1_003)
      .hold('c2', 'y', { call: 2_000, granted: 2_001, token: 11 })
      .own('c2', 'y', 2_002, { type: 'guarded', zxid: String(second) })
      .release('c2', 'y', 2_003).findings;

  it('follow the tokens', () => {
    expect(twoHolders(100, 101)).to.deep.equal([]);
  });

  it('must not come after a write of a later holder', () => {
    expect(twoHolders(101, 100)).to.deep.equal(['guarded']);
  });
});
