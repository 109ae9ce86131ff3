import { expect } from 'chai';
import type { Role } from '../../../lab/judge/history.ts';
import { calm } from './support/script.ts';

describe('guarded writes in a history', () => {
  const twoHolders = (first: number, second: number, role: Role = 'owner'): string[] =>
    calm()
      .hold('c1', 'x', { role, call: 1_000, granted: 1_001, token: 10 })
      .own('c1', 'x', 1_002, { type: 'guarded', zxid: String(first) })
      .release('c1', 'x', 1_003)
      .hold('c2', 'y', { role, call: 2_000, granted: 2_001, token: 11 })
      .own('c2', 'y', 2_002, { type: 'guarded', zxid: String(second) })
      .release('c2', 'y', 2_003).findings;

  it('follow the tokens', () => {
    expect(twoHolders(100, 101)).to.deep.equal([]);
  });

  it('must not come after a write of a later holder', () => {
    expect(twoHolders(101, 100)).to.deep.equal(['guarded']);
  });

  it('of readers and leases come in any order', () => {
    for (const role of ['reader', 'lease'] as const) expect(twoHolders(101, 100, role)).to.deep.equal([]);
  });
});
