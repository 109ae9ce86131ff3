import { expect } from 'chai';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { summary } from '../../../bench/measure.ts';
import { publish } from '../../../bench/publish.ts';
import { tables } from '../../../bench/report.ts';
import type { Results } from '../../../bench/results.ts';

const some = summary([{ cyclesPerSecond: 10, cpuMicrosPerCycle: 1, requestsPerCycle: 2, bytesPerCycle: 3 }]);
const load = { cyclesPerSecond: 1, loopDelayP99Ms: 1, remoteServedMs: 1 };
const results: Results = {
  date: '2026-11-22T00:00:00.000Z',
  machine: 'a machine',
  versions: {},
  rounds: 1,
  secondsOfRun: 1,
  loadBefore: 0,
  skipped: {},
  scenarios: { solo: { ours: some, raw: some }, 'solo, 5 ms links': { ours: some, etcd3: some } },
  more: {
    growth: { waiters: [{ name: '1 waiters', ours: some }], sessions: [{ name: '1 sessions', ours: some }] },
    sticky: { solo: load, threads64: load, contended: { ratio: 1, luck: 1 } },
    heapBytesPerWaiter: 2_048,
  },
};

describe('publishing the results of the benchmark', () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'publish-'));
    mkdirSync(join(root, 'docs'));
    writeFileSync(
      join(root, 'docs/performance.md'),
      'before\n<!-- results -->the earlier run<!-- end of results -->\nafter\n',
    );
    publish(results, root);
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it('replaces the tables of the page, and keeps the text around them', () => {
    const page = readFileSync(join(root, 'docs/performance.md'), 'utf8');
    expect(page)
      .to.match(/^before\n/)
      .and.match(/\nafter\n$/);
    expect(page).to.include('Measured on 2026-11-22').and.include('plots/links.svg').and.not.include('the earlier run');
  });

  it('draws the places in two pictures, with the peers that were measured there', () => {
    expect(readdirSync(join(root, 'docs/plots')).sort()).to.deep.equal([
      'links.svg',
      'scenarios.svg',
      'sessions.svg',
      'waiters.svg',
    ]);
    expect(readFileSync(join(root, 'docs/plots/links.svg'), 'utf8'))
      .to.include('etcd3')
      .and.not.include('raw requests');
    expect(readFileSync(join(root, 'docs/plots/scenarios.svg'), 'utf8')).to.include('raw requests');
  });

  it('keeps the figures in a file named after the day', () => {
    const kept = JSON.parse(readFileSync(join(root, 'bench/results/2026-11-22.json'), 'utf8')) as Results;
    expect(kept.scenarios['solo']?.ours?.cyclesPerSecond).to.equal(10);
  });
});

describe('docs/performance.md', () => {
  const here = (path: string): URL => new URL(`../../../${path}`, import.meta.url);
  /** Without the spaces and dashes by which prettier aligns tables. */
  const unaligned = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---').trim();

  it('shows the tables of the newest file of results', () => {
    const newest = readdirSync(here('bench/results')).sort().at(-1) ?? '';
    // A figure that a scenario does not have is null in the file.
    const kept = JSON.parse(
      readFileSync(here(`bench/results/${newest}`), 'utf8'),
      (_, value: unknown) => value ?? undefined,
    ) as Results;
    const [, shown = ''] = readFileSync(here('docs/performance.md'), 'utf8').split(
      /<!-- (?:results|end of results) -->/,
    );
    expect(unaligned(shown)).to.equal(
      `${unaligned(tables(kept))}\n\n![Cycles a second over links and on an ensemble](plots/links.svg)`,
    );
  });
});
