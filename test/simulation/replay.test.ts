import { expect } from 'chai';
import { phases } from '../../lab/virtual/agenda.ts';
import { drawPlan } from '../../simulation/draw-plan.ts';
import { planOf } from '../../simulation/lineage.ts';
import type { Plan, Step } from '../../simulation/plan.ts';
import { shrink } from '../../simulation/shrink.ts';
import { Simulation } from '../../simulation/simulation.ts';
import { call, hanging, plain } from './support/plans.ts';

describe('the simulation', () => {
  it('replays a seed exactly', async () => {
    const plan = drawPlan(7, { steps: 40 });
    const [first, second] = [await recorded(plan), await recorded(plan)];
    expect(first.history.length).to.be.greaterThan(40);
    expect(second.history).to.deep.equal(first.history);
    expect(second.outcome.events).to.equal(first.outcome.events);
  });

  it('runs other histories for other seeds', async () => {
    const [first, second] = [await recorded(drawPlan(7, { steps: 40 })), await recorded(drawPlan(8, { steps: 40 }))];
    expect(second.history).to.not.deep.equal(first.history);
  });

  it('ends only when a question that outlives its call has settled', async () => {
    const { violations } = await new Simulation(drawPlan(7_001_258, { steps: 100 })).run();
    expect(violations).to.deep.equal([]);
  });

  it('finds no violation in six seeds, and makes faults and grants in them', async () => {
    const sum = { faults: 0, grants: 0, terms: 0, writes: 0 };
    for (let seed = 1; seed <= 6; seed += 1) {
      const outcome = await new Simulation(drawPlan(seed, { steps: 60 })).run();
      expect(outcome.violations, `seed ${seed}`).to.deep.equal([]);
      for (const figure of Object.keys(sum) as (keyof typeof sum)[]) sum[figure] += outcome[figure];
    }
    expect(sum.faults).to.be.greaterThan(40);
    expect(sum.grants).to.be.greaterThan(25);
    expect(sum.terms).to.be.greaterThan(1);
    expect(sum.writes).to.be.greaterThan(2);
  });

  for (const seed of [23_549, 54_357, 68_863, 71_783, 82_257, 83_809, 90_696, 92_419])
    it(`finds no violation in seed ${seed}, in which it once did`, async () => {
      const { violations } = await new Simulation(planOf([seed], { steps: 100, members: 3 })).run();
      expect(violations).to.deep.equal([]);
    });

  it('notices a call that hangs, and shrinks the plan to it', async () => {
    const { violations } = await new Simulation(hanging).run();
    expect(violations[0]?.check).to.equal('I4');
    const short = await shrink(hanging, 'I4', 50);
    expect(short.steps.length).to.be.lessThan(hanging.steps.length);
  });

  it('tells a rejection that nobody handles, also one of the last event', async () => {
    const listeners = process.rawListeners('unhandledRejection') as NodeJS.UnhandledRejectionListener[];
    process.removeAllListeners('unhandledRejection');
    try {
      for (const isLast of [false, true]) {
        const simulation = new Simulation(plain([call(300)]));
        const { machine, judge } = simulation.world;
        machine.time.add(200, phases.socket, () => {
          void Promise.reject(new Error('not handled'));
          if (isLast) judge.tell('end', 'the run ends');
        });
        const { violations } = await simulation.run();
        expect(violations.map(({ text }) => text)).to.include('unhandled: Error: not handled');
      }
      expect(process.listenerCount('unhandledRejection')).to.equal(0);
    } finally {
      for (const listener of listeners) process.on('unhandledRejection', listener);
    }
  });
});

describe('a session that another connection has moved to another server', () => {
  for (const member of [0, 1, 2])
    it(`(server ${member}) still claims a lock with weights`, async () => {
      const attach: Step = { at: 380, do: 'attach', client: 1, member };
      const plan = { ...plain([call(300, 0, 200), call(350, 1), attach]), members: 3 };
      const { violations, grants } = await new Simulation({
        ...plan,
        locks: [{ path: '/locks/a', is: 'weighted', overtakesPerWeight: 1 }],
      }).run();
      expect(violations).to.deep.equal([]);
      expect(grants).to.equal(2);
    });
});

describe('a client that is closed at any time around a grant', () => {
  it('leaves no timer, no connection and no znode behind', async () => {
    for (let at = 290; at < 340; at += 1) {
      const close: Step = { at, do: 'close', client: 0, timeoutMs: 1_000, successorAfterMs: 500 };
      const steps = [call(280, 0, 5), call(281, 0, 5), close].sort((a, b) => a.at - b.at);
      const { violations } = await new Simulation(plain(steps)).run();
      expect(violations, `closed at ${at}`).to.deep.equal([]);
    }
  });
});

async function recorded(plan: Plan) {
  const outcome = await new Simulation(plan).run();
  return { outcome, history: outcome.history };
}
