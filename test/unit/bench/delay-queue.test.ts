import { expect } from 'chai';
import { DelayQueue } from '../../../bench/links/delay-queue.ts';

describe('the delay queue of the benchmark', () => {
  it('gives no item before its time, and each item once', () => {
    const queue = new DelayQueue<string>();
    queue.add('a', 100, 5);
    queue.add('b', 102, 5);
    expect(queue.take(104.9)).to.deep.equal([]);
    expect(queue.take(106)).to.deep.equal(['a']);
    expect(queue.take(200)).to.deep.equal(['b']);
    expect(queue.take(200)).to.deep.equal([]);
  });

  it('keeps the order of items with the same delay', () => {
    const queue = new DelayQueue<number>();
    for (let item = 0; item < 10; item++) queue.add(item, 0, 1);
    expect(queue.take(1)).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('knows the next time, over all delays', () => {
    const queue = new DelayQueue<string>();
    expect(queue.nextDue).to.equal(undefined);
    queue.add('far', 0, 5);
    queue.add('near', 1, 1);
    expect(queue.nextDue).to.equal(2);
    expect(queue.take(2)).to.deep.equal(['near']);
    expect(queue.nextDue).to.equal(5);
  });
});
