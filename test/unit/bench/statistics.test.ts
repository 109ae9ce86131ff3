import { expect } from 'chai';
import { summary, type Run } from '../../../bench/measure.ts';
import { median, quantile } from '../../../bench/statistics.ts';

const run = (cyclesPerSecond: number, more: Partial<Run> = {}): Run => ({
  cyclesPerSecond,
  cpuMicrosPerCycle: 100,
  requestsPerCycle: 2,
  bytesPerCycle: 200,
  ...more,
});

describe('the statistics of the benchmark', () => {
  it('take the middle of the sorted values', () => {
    expect(median([9, 1, 5])).to.equal(5);
    expect(quantile([4, 1, 3, 2], 0.99)).to.equal(4);
    expect(median([])).to.be.NaN;
  });

  it('summarize runs by medians, and by the slowest and the fastest run', () => {
    const { cyclesPerSecond, slowest, fastest } = summary([run(30), run(10), run(20)]);
    expect([cyclesPerSecond, slowest, fastest]).to.deep.equal([20, 10, 30]);
  });

  it('leave out a figure that no run has, and use the runs that have it', () => {
    const { luck, handOverP50Ms } = summary([run(1, { luck: 2 }), run(2)]);
    expect(luck).to.equal(2);
    expect(handOverP50Ms).to.equal(undefined);
  });
});
