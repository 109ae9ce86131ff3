import { expect } from 'chai';
import fc from 'fast-check';
import { planJobs } from '../../demo/plan.ts';

describe("the demo's plan", () => {
  it('gives every job to one worker, and the same number to each as far as possible', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.nat(60), (workers, jobs) => {
        const plan = planJobs({ workers, jobs }, Math.random);
        expect(plan).to.have.length(workers);
        const numbers = plan.flat().map(({ number }) => number);
        expect(numbers.sort((a, b) => a - b)).to.deep.equal(Array.from({ length: jobs }, (_, index) => index + 1));
        const loads = plan.map((own) => own.length);
        expect(Math.max(...loads) - Math.min(...loads)).to.be.at.most(1);
      }),
    );
  });

  it('lets jobs hold the lock for 15 to 45 ms', () => {
    const holds = (random: number) =>
      planJobs({ workers: 4, jobs: 40 }, () => random)
        .flat()
        .map(({ holdMs }) => holdMs);
    expect(new Set(holds(0))).to.deep.equal(new Set([15]));
    expect(new Set(holds(1))).to.deep.equal(new Set([45]));
  });

  it('lets jobs ask faster than they can be served, so that a queue builds up', () => {
    const jobs = planJobs({ workers: 4, jobs: 40 }, () => 0).flat();
    const served = jobs.reduce((sum, { holdMs }) => sum + holdMs, 0);
    expect(Math.max(...jobs.map(({ startMs }) => startMs))).to.be.below(served);
  });
});
