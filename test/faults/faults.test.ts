import { expect } from 'chai';
import { until } from '../../lab/until.ts';
import { Alarms } from './alarms.ts';
import { enumerate, factsOf, faultsOf, type Unreachable } from './enumerate.ts';
import type { FrameFact } from './fault.ts';
import { Pool } from './pool.ts';
import { caseName, runCase, type Case, type Outcome } from './run-case.ts';
import { scenarios } from './scenarios.ts';
import { openFixture, type Fixture } from './fixture.ts';

/**
 * A case that waits for a fault to end costs nothing. The other cases cost processor time, and too many at once would
 * make each other late.
 */
const waitingAtOnce = 40;
const busyAtOnce = 12;
const limitMs = 900_000;
const mostMissed = 10;

interface Plan {
  /** How many faults can happen to this kind of lock. */
  readonly faults: number;
  readonly facts: readonly FrameFact[];
  readonly cases: readonly Case[];
  readonly unreachable: readonly Unreachable[];
}

describe('every fault at every frame', function () {
  this.timeout(limitMs);
  const plans = new Map<string, Plan>();
  const problems: unknown[] = [];
  const outcomes = new Map<Case, Promise<Outcome>>();
  let fixture: Fixture;
  let alarms: Alarms;

  before(async () => {
    alarms = new Alarms();
    fixture = await openFixture();
    const [waiting, busy] = [new Pool(waitingAtOnce), new Pool(busyAtOnce)];
    const enumerating = scenarios.map(async (scenario) => {
      const facts = await busy.run(() => factsOf(fixture, scenario));
      return { scenario, facts, faults: faultsOf(scenario).length, ...enumerate(scenario, facts) };
    });
    for (const plan of await Promise.allSettled(enumerating)) {
      if (plan.status === 'fulfilled') plans.set(plan.value.scenario.name, plan.value);
      else problems.push(plan.reason);
    }
    for (const each of [...plans.values()].flatMap(({ cases }) => cases)) {
      const play = (): Promise<Outcome> => runCase(fixture, each).finally(alarms.during(caseName(each)));
      outcomes.set(each, (each.fault.lastsMs > 0 ? waiting : busy).run(play));
    }
  });

  after(async () => {
    await fixture[Symbol.asyncDispose]();
    await until('no socket is left', () => !process.getActiveResourcesInfo().includes('TCPSocketWrap'));
    alarms.stop();
    expect(alarms.heard, alarms.heard.join('\n')).to.deep.equal([]);
  });

  for (const scenario of scenarios) {
    describe(scenario.name, () => {
      it('has at least as many frames as when its faults were counted', () => {
        expect(plans.get(scenario.name)?.facts.length, problems.join('\n')).to.be.at.least(scenario.frames);
      });

      for (const fault of faultsOf(scenario)) {
        it(fault.name, async () => {
          const cases = plans.get(scenario.name)?.cases.filter((each) => each.fault === fault) ?? [];
          const failures = await Promise.all(
            cases.map(async (each) =>
              ((await outcomes.get(each))?.warnings ?? ['not played']).map((what) => `${caseName(each)}: ${what}`),
            ),
          );
          expect(failures.flat(), failures.flat().join('\n')).to.deep.equal([]);
        });
      }
    });
  }

  describe('all cases together', () => {
    it('leave out no case, miss no fault, and raise no alarm', async () => {
      const all = [...plans.values()];
      const missed = await Promise.all(
        [...outcomes].map(async ([each, outcome]) => ({ name: caseName(each), why: (await outcome).missed })),
      );
      const without = missed.filter(({ why }) => why !== undefined).map(({ name, why = '' }) => `${name}: ${why}`);
      // Where frames of both directions of a connection meet, it depends on moments whether a znode already, or still,
      // exists.
      expect(without.length, without.join('\n')).to.be.at.most(mostMissed);
      const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
      const frames = sum(all.map(({ facts }) => facts.length));
      const unreachable = all.flatMap((plan) => plan.unreachable.map(({ why }) => why));
      expect(outcomes.size + unreachable.length).to.equal(sum(all.map(({ facts, faults }) => facts.length * faults)));
      expect(alarms.heard, alarms.heard.join('\n')).to.deep.equal([]);
      console.log(
        `    ${outcomes.size} cases: ${Math.max(...all.map(({ faults }) => faults))} faults at ${frames} frames of ${scenarios.length} scenarios, less ${unreachable.length} that cannot happen`,
      );
      for (const [why, count] of countBy(unreachable)) console.log(`      ${count} cannot happen: ${why}`);
      for (const line of without) console.log(`      did not happen: ${line}`);
    });
  });
});

function countBy(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}
