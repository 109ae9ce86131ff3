import { expect } from 'chai';
import { calm } from './support/script.ts';

describe('leaders in a history', () => {
  const shown = (leader: string, valid: boolean): string[] =>
    calm()
      .hold('c1', 'x', { call: 1_000, granted: 1_001, token: 10, znode: '/a/latch-1' })
      .own('c1', 'x', 1_002, { type: 'leader', shown: leader, valid })
      .release('c1', 'x', 1_003).findings;

  it('are the holders of valid terms', () => {
    expect(shown('/a/latch-1', true)).to.deep.equal([]);
  });

  it('must not be another candidate, or nobody, while a term is valid', () => {
    expect(shown('/a/latch-0', true)).to.deep.equal(['leaders']);
    expect(shown('', true)).to.deep.equal(['leaders']);
  });
});
