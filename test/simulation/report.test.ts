import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { report } from '../../simulation/report.ts';
import { Simulation, type Outcome } from '../../simulation/simulation.ts';
import { call, hanging, plain } from './support/plans.ts';

describe('the report of a simulation', () => {
  let out: string;
  beforeEach(() => (out = join(mkdtempSync(join(tmpdir(), 'simulation-report-')), 'results')));
  afterEach(() => rmSync(join(out, '..'), { recursive: true }));

  it('replays a plan that has failed, shrinks it and draws it', async () => {
    const outcome = await new Simulation(hanging).run();
    const text = await report('1', hanging, outcome, out);
    const [, from, to] = /shrunk from (\d+) to (\d+) steps/.exec(text) ?? [];
    expect(Number(from)).to.equal(hanging.steps.length);
    expect(Number(to)).to.be.within(1, hanging.steps.length - 1);
    expect(text.match(/"do":"call"/g)).to.have.lengthOf(Number(to));
    expect(text).to.match(/^seed 1: I4: p1c0#.* has not settled$/m);
    expect(text).to.include('replayed: the same');
    const file = join(out, 'seed-1.html');
    expect(text).to.include(`drawn: ${file}`);
    expect(readFileSync(file, 'utf8')).to.include('have not ended');
  });

  it('says so if the replay has another outcome', async () => {
    const { violations, ...outcome } = await new Simulation(hanging).run();
    const other: Outcome = { ...outcome, violations: violations.map((each) => ({ ...each, t: each.t + 1 })) };
    expect(await report('1', hanging, other, out)).to.include('replayed: ANOTHER OUTCOME: [{"check":"I4"');
  });

  it('is empty without a violation', async () => {
    const plan = plain([call(300)]);
    expect(await report('1', plan, await new Simulation(plan).run(), out)).to.equal('');
  });
});
