import { expect } from 'chai';
import { locks } from '../../../chaos/histories/rules/locks.ts';
import type { Span } from '../../../chaos/histories/operation.ts';
import { brokenBy, held } from './support/spans.ts';

function broken(...spans: readonly (readonly Span[])[]): string[] {
  return brokenBy(locks, spans.flat());
}

describe('the rules of a lock', () => {
  it('accept holds one after another', () => {
    expect(broken(held([2, 5], 10), held([6, 9], 11))).to.deep.equal([]);
  });

  it('find two holders at once', () => {
    expect(broken(held([2, 5], 10), held([4, 9], 11))).to.deep.equal(['exclusion']);
  });

  it('find a holder that learns of its loss after the next grant', () => {
    expect(broken(held([2, 5], 10, { end: 'told' }), held([4, 9], 11))).to.deep.equal(['told']);
    expect(broken(held([2, 4], 10, { end: 'told' }), held([5, 9], 11))).to.deep.equal([]);
  });

  it('find a grant before that of an earlier znode', () => {
    expect(broken(held([2, 5], 11), held([6, 9], 10))).to.deep.equal(['order']);
  });

  it('leave the order of a lock with weights to the rules of chaos', () => {
    expect(broken(held([2, 5], 11, { hasWeight: true }), held([6, 9], 10, { hasWeight: true }))).to.deep.equal([]);
  });

  it('accept readers together, in any order, and find a writer among them', () => {
    const readers = [held([2, 8], 11, { role: 'reader' }), held([3, 8], 10, { role: 'reader' })];
    expect(broken(...readers)).to.deep.equal([]);
    expect(broken(...readers, held([7, 9], 12, { role: 'writer' }))).to.deep.equal(['exclusion']);
  });

  it('find a reader that is granted before an earlier writer', () => {
    expect(broken(held([2, 5], 11, { role: 'reader' }), held([6, 9], 10, { role: 'writer' }))).to.deep.equal(['order']);
    expect(broken(held([2, 5], 11, { role: 'writer' }), held([6, 9], 10, { role: 'reader' }))).to.deep.equal(['order']);
  });

  it('accept a writer that downgrades to reading', () => {
    const [owner, token] = ['w', 10];
    expect(
      broken(held([2, 8], token, { owner, role: 'writer' }), held([4, 9], token, { owner, role: 'reader' })),
    ).to.deep.equal([]);
  });

  it('find more leases than permits', () => {
    const lease = { role: 'lease', permits: 2 } as const;
    const two = [held([2, 8], 10, lease), held([3, 8], 11, lease)];
    expect(broken(...two)).to.deep.equal([]);
    expect(broken(...two, held([4, 5], 12, lease))).to.deep.equal(['exclusion']);
  });

  it('leave two peers alone, and find a peer beside this library', () => {
    const peer = { isPeer: true };
    expect(broken(held([2, 5], 10, peer), held([4, 9], 11, peer))).to.deep.equal([]);
    expect(broken(held([2, 5], 10, peer), held([4, 9], 11))).to.deep.equal(['exclusion']);
  });
});
