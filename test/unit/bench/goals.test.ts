import { expect } from 'chai';
import { goals, judge } from '../../../bench/goals.ts';
import { summary } from '../../../bench/measure.ts';
import { report, tables } from '../../../bench/report.ts';
import type { Results } from '../../../bench/results.ts';
import { scenarios } from '../../../bench/scenarios.ts';

const of = (cyclesPerSecond: number, cpuMicrosPerCycle: number): ReturnType<typeof summary> =>
  summary([{ cyclesPerSecond, cpuMicrosPerCycle, requestsPerCycle: 2, bytesPerCycle: 200 }]);

const measured: Results['scenarios'] = {
  'spread 64': { ours: of(900, 40), curator: of(450, 80), raw: of(1_000, 25) },
  'threads 64': { ours: of(800, 40) },
};

const verdict = (scenario: string, figure: string, against: string) =>
  judge({ scenarios: measured }).find(
    (each) => each.scenario === scenario && each.figure === figure && each.against === against,
  );

describe('the goals of the benchmark', () => {
  it('name scenarios that exist', () => {
    const names = scenarios.map(({ name }) => name);
    expect(goals.filter(({ scenario }) => !names.includes(scenario))).to.deep.equal([]);
  });

  it('ask for more speed, and for less CPU time', () => {
    expect(verdict('spread 64', 'speed', 'curator')).to.include({ reached: 2, isMet: true });
    expect(verdict('spread 64', 'speed', 'raw')).to.include({ reached: 0.9, isMet: true });
    expect(verdict('spread 64', 'cpu', 'raw')).to.include({ reached: 1.6, isMet: false });
  });

  it('say what the raw requests reach', () => {
    expect(verdict('spread 64', 'speed', 'curator')?.limit).to.be.closeTo(1_000 / 450, 1e-9);
  });

  it('compare many owners of one process with as many pairs of requests in flight', () => {
    expect(verdict('threads 64', 'speed', 'raw')).to.include({ reached: 0.8, isMet: false });
  });

  it('are left out if their scenario or their peer was not measured', () => {
    expect(verdict('solo', 'speed', 'raw')).to.equal(undefined);
    expect(verdict('threads 64', 'speed', 'curator')).to.equal(undefined);
  });
});

describe('the report of the benchmark', () => {
  const results: Results = {
    date: '2026-11-22T00:00:00.000Z',
    machine: 'a machine',
    versions: { Node: 'v20' },
    rounds: 1,
    secondsOfRun: 1,
    loadBefore: 0,
    skipped: { etcd3: 'etcd' },
    scenarios: measured,
  };

  it('says which peers were skipped, and shows no column for them', () => {
    expect(report(results)).to.include('etcd3 was skipped: etcd is missing.').and.not.include('| etcd3');
  });

  it('shows the medians in the docs, and the slowest and the fastest round to who runs it', () => {
    const range = / \([\d,]+–[\d,]+\) /;
    expect(tables(results)).to.include('cycles a second (median)').and.not.match(range);
    expect(report(results)).to.include('cycles a second: median (slowest–fastest)').and.match(range);
  });

  it('says of each goal whether it is met', () => {
    expect(report(results))
      .to.include('| spread 64 | cycles a second | raw requests | ≥ 0.9 | 0.90 | 1.00 | yes |')
      .and.include('| spread 64 | CPU a cycle | raw requests | ≤ 1.4 | 1.60 | 1.00 | no |');
  });
});
