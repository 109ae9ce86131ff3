import { expect } from 'chai';
import { registers } from '../../../chaos/histories/rules/registers.ts';
import type { Span } from '../../../chaos/histories/operation.ts';
import { brokenBy, read, write } from './support/spans.ts';

function broken(...spans: readonly Span[]): string[] {
  return brokenBy(registers, spans);
}

describe('the rules of a register with fencing tokens', () => {
  it('accept writes with growing tokens, two of one holder, and a refused late writer', () => {
    const spans = [write([1, 2], 1, 10), write([3, 4], 2, 11), write([5, 6], 3, 11), write([1.5, 7], 4, 10, 'fail')];
    expect(broken(...spans, read([8, 9], 3))).to.deep.equal([]);
  });

  it('find a write that is accepted after one with a larger token', () => {
    expect(broken(write([1, 2], 1, 11), write([3, 4], 2, 10))).to.deep.equal(['fencing']);
  });

  it('accept either order of writes at the same time', () => {
    expect(broken(write([1, 3], 1, 11), write([2, 4], 2, 10))).to.deep.equal([]);
  });

  it('find a refused write with the largest token', () => {
    expect(broken(write([1, 2], 1, 10), write([3, 4], 2, 11, 'fail'))).to.deep.equal(['refusal']);
  });

  it('find a read of a refused write, and one of a value that nobody wrote', () => {
    const spans = [write([1, 2], 1, 11), write([3, 4], 2, 10, 'fail')];
    expect(broken(...spans, read([5, 6], 2))).to.deep.equal(['read']);
    expect(broken(...spans, read([5, 6], 99))).to.deep.equal(['read']);
  });

  it('find a read of a value that had been replaced', () => {
    const spans = [write([1, 2], 1, 10), write([3, 4], 2, 11)];
    expect(broken(...spans, read([5, 6], 1))).to.deep.equal(['read']);
    expect(broken(...spans, read([5, 6], null))).to.deep.equal(['read']);
  });

  it('accept a read of a write of which nobody knows', () => {
    expect(broken(write([1, 2], 1, 10), write([3, Infinity], 2, 11, 'info'), read([5, 6], 2))).to.deep.equal([]);
  });
});
