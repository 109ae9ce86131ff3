import { expect } from 'chai';
import { lists } from '../../../chaos/histories/rules/lists.ts';
import type { Span } from '../../../chaos/histories/operation.ts';
import { brokenBy, txn } from './support/spans.ts';

const first = txn([1, 2], [], 11);
const second = txn([3, 4], [11], 12);

function broken(...spans: readonly Span[]): string[] {
  return brokenBy(lists, spans);
}

describe('the rules of list-append', () => {
  it('accept appends and reads in order', () => {
    expect(broken(first, second, txn([5, 6], [11, 12]))).to.deep.equal([]);
  });

  it('find a number that is in a list twice', () => {
    expect(broken(first, second, txn([5, 6], [11, 12, 11]))).to.deep.equal(['twice']);
  });

  it('find a number that nobody appended', () => {
    expect(broken(first, txn([5, 6], [11, 99]))).to.deep.equal(['phantom']);
  });

  it('find a number that was appended to another list', () => {
    expect(
      broken(txn([1, 2], [], 11, { key: 'b-0' }), txn([3, 4], [11]), txn([3, 4], [11], undefined, { key: 'b-0' })),
    ).to.deep.equal(['phantom']);
  });

  it('find an append that was refused, and is there', () => {
    expect(broken(first, txn([3, 4], [11], 12, { type: 'fail' }), txn([5, 6], [11, 12]))).to.deep.equal(['refused']);
  });

  it('accept an append of which nobody knows, whether it is there or not', () => {
    const unknown = txn([3, Infinity], [11], 12, { type: 'info' });
    expect(broken(first, unknown, txn([5, 6], [11, 12]))).to.deep.equal([]);
    expect(broken(first, unknown, txn([5, 6], [11]))).to.deep.equal([]);
  });

  it('find an acknowledged append that is missing', () => {
    expect(broken(first, second, txn([5, 6], [11]))).to.deep.equal(['lost']);
    expect(broken(first)).to.deep.equal(['lost']);
  });

  it('find an acknowledged append that a later read lacks', () => {
    expect(broken(first, second, txn([5, 6], [11]), txn([7, 8], [11, 12]))).to.deep.equal(['stale']);
  });

  it('find lists of which neither is the beginning of the other', () => {
    const one = txn([1, 2], [], 11, { type: 'info' });
    const other = txn([1, 2], [], 21, { type: 'info' });
    expect(broken(one, other, txn([3, 4], [11, 21]), txn([3, 4], [21]))).to.deep.equal(['order']);
  });

  it('find a read of a number before its append', () => {
    expect(broken(first, txn([3, 4], [11, 12]), txn([5, 6], [11], 12), txn([7, 8], [11, 12]))).to.deep.equal([
      'future',
    ]);
  });

  it('find an append that came between the read and the append of another transaction', () => {
    const late = txn([2.5, 5], [11], 13);
    expect(broken(first, second, late, txn([6, 7], [11, 12, 13]))).to.deep.equal(['between']);
  });

  it('accept the first number of the next list behind the last list', () => {
    const next = txn([3, 4], [11], 12, { next: 'a-1' });
    expect(broken(first, next, txn([5, 6], [12], undefined, { key: 'a-1' }))).to.deep.equal([]);
  });

  it('find a next list that was begun before the last list was complete', () => {
    const next = txn([2.5, 6], [11], 13, { next: 'a-1' });
    const last = txn([7, 8], [13], undefined, { key: 'a-1' });
    expect(broken(first, second, txn([4.5, 5], [11, 12]), next, last)).to.deep.equal(['between']);
  });
});
