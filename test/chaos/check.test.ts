import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { check } from '../../chaos/check.ts';
import { report, surroundings } from '../../chaos/checks/report.ts';
import { calm, type Script } from '../lab/judge/support/script.ts';

const program = fileURLToPath(new URL('../../chaos/check.ts', import.meta.url));

function overlapping(): Script {
  return calm()
    .hold('c1', 'x', { call: 990, granted: 1_000, token: 10 })
    .release('c1', 'x', 1_200)
    .hold('c2', 'y', { call: 995, granted: 1_100, until: 1_300, token: 11 });
}

describe('the checker', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'chaos-check-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  function run(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
    return spawnSync(process.execPath, ['--import=tsx', program, ...args], { encoding: 'utf8' });
  }

  it('passes a clean history, prints the figures and draws it', () => {
    const file = join(folder, 'history.jsonl');
    writeFileSync(file, calm().text);
    const { status, stdout } = run(file);
    expect(stdout)
      .to.include('seed 7, 2 clients, 2 paths, 60.010 s')
      .and.include('no violations')
      .and.match(/grants {2}3/);
    expect(readFileSync(join(folder, 'history.html'), 'utf8')).to.include('seed 7: no violations');
    expect(status).to.equal(0);
  });

  it('fails a history with a violation, and prints the seed and the events around the violation', () => {
    const file = join(folder, 'history.jsonl');
    writeFileSync(file, overlapping().text);
    const { status, stdout } = run(file);
    expect(stdout).to.include(
      'seed 7: overlaps at 1.100 s: x (/a, token 10) claims the lock until 1.200 s, but y (/a, token 11) has held it since 1.100 s: 0.100 s together',
    );
    expect(stdout).to.match(/> +1\.100 s {2}\{"client":"c2","id":"y","type":"granted"/);
    expect(readFileSync(join(folder, 'history.html'), 'utf8')).to.include('seed 7: 1 violations');
    expect(status).to.equal(1);
  });

  it('ends with exit code 2 if there is no history', () => {
    expect(run()).to.deep.include({ status: 2, stdout: '' });
    const file = join(folder, 'broken.jsonl');
    writeFileSync(file, '{"t":1}\n');
    const { status, stderr } = run(file);
    expect(stderr).to.include('broken.jsonl: line 1: Expected `type`');
    expect(status).to.equal(2);
    expect(run(join(folder, 'none.jsonl')).status).to.equal(2);
  });
});

describe('a verdict', () => {
  it('lists its violations in order of time', () => {
    const { violations } = check(
      overlapping().say(500, { type: 'warning', client: 'c1', what: 'warning', error: 'late' }).history,
    );
    expect(violations.map((violation) => violation.check)).to.deep.equal(['warnings', 'overlaps']);
  });
});

describe('the events around a violation', () => {
  const busy = (): Script => {
    const script = calm();
    for (let index = 0; index < 30; index += 1) {
      const t = 1_000 + index;
      script.hold('c1', `x${index}`, { call: t, granted: t, token: 10 + index }).release('c1', `x${index}`, t + 0.5);
      script
        .hold('c2', `y${index}`, { path: '/b', call: t, granted: t, token: 10 + index })
        .release('c2', `y${index}`, t + 0.5);
    }
    return script;
  };

  it('are those of its paths and clients, and the faults, twenty to each side', () => {
    const { history } = busy().fault('cut-link', 'c2', 1_015.1, 1_015.2);
    const lines = surroundings({ check: 'overlaps', t: 1_015, text: '', ids: ['x15'] }, history);
    expect(lines).to.have.length(40);
    expect(lines.filter((line) => line.includes('"client":"c2"'))).to.deep.equal([]);
    expect(lines.filter((line) => line.includes('cut-link'))).to.have.length(1);
    expect(lines.filter((line) => line.startsWith('>'))).to.have.length(2);
  });

  it('are all events if the violation concerns no acquire', () => {
    const lines = surroundings({ check: 'warnings', t: 1_015, text: '', ids: [] }, busy().history);
    expect(lines.filter((line) => line.includes('"client":"c2"'))).to.have.length.above(5);
  });

  it('are printed for the first few violations of a check; then one line per violation; then the number of the others', () => {
    const violations = Array.from({ length: 60 }, (_, index) => ({
      check: 'overlaps',
      t: 1_000 + index,
      text: `no ${index}`,
      ids: [`x${index % 30}`],
    }));
    const { history } = busy();
    const told = report(history, violations, check(history).figures);
    expect(told.split('\n').filter((line) => line.startsWith('seed 7: overlaps'))).to.have.length(50);
    expect(told).to.include('overlaps: 60').and.include('and 10 more').and.include('60 violations, seed 7');
    expect(told.split('\n').filter((line) => line.startsWith('>')).length).to.be.within(5, 20);
  });
});
