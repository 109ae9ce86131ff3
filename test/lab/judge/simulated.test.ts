import { expect } from 'chai';
import { fold, type Granted, type History } from '../../../lab/judge/folded-history.ts';
import { znodeOf, type HistoryEvent, type OwnerEvent, type Role } from '../../../lab/judge/history.ts';
import { judge } from '../../../lab/judge/judge.ts';
import { drawPlan } from '../../../simulation/draw-plan.ts';
import { Simulation } from '../../../simulation/simulation.ts';

describe('a history of a simulation, with any faults', () => {
  const histories: History[] = [];

  before(async function () {
    // Only the machine can make it slow.
    this.timeout(600_000);
    for (let seed = 1; seed <= 10; seed += 1) {
      const { history } = await new Simulation(drawPlan(seed, { steps: 60 })).run();
      histories.push(fold(history));
    }
  });

  /** The holds that the servers and their code had until their release, and a moment in the midst of each. */
  function holdsIn(history: History): { readonly grant: Granted; readonly t: number }[] {
    const taken = new Set(history.faults.map(({ target }) => target));
    return [...history.grants.values()].flat().flatMap((grant) => {
      const { granted, releasingAt, observations } = grant;
      const isTaken = taken.has(znodeOf(granted.hold)) || taken.has(granted.session ?? '');
      const last = observations.at(-1);
      if (isTaken || last?.valid !== true || releasingAt === undefined || releasingAt <= granted.t) return [];
      return [{ grant, t: (granted.t + releasingAt) / 2 }];
    });
  }

  /** The checks that fail when a client that no fault hurts is granted so many holds at this moment. */
  function intruded({ events }: History, path: string, t: number, role: Role, count: number): string[] {
    const client = 'intruder';
    const more = Array.from({ length: count }, (_, index): HistoryEvent[] => {
      const id = `intruder ${index}`;
      const own = (at: number, event: OwnerEvent): HistoryEvent => ({ t: at, client, id, ...event });
      return [
        own(t - 1e-4, { type: 'call', path, kind: 'try', flow: id, role }),
        own(t, { type: 'granted', path, hold: `${path}/${id}`, token: `${10n ** 12n + BigInt(index)}`, valid: true }),
        own(t + 1e-4, { type: 'releasing', valid: true }),
      ];
    });
    const [run] = events as [HistoryEvent];
    const started: HistoryEvent = { t: run.t, client, type: 'started', incarnation: 1 };
    const all = [run, started, ...events.slice(1), ...more.flat()].sort((a, b) => a.t - b.t);
    return judge(fold(all)).map(({ check }) => check);
  }

  it('has no violation', () => {
    for (const history of histories) expect(judge(history)).to.deep.equal([]);
  });

  it('has one if an owner is granted the lock while another one holds it', () => {
    const holds = histories.flatMap((history) => holdsIn(history).map((hold) => ({ history, ...hold })));
    expect(holds).to.have.length.above(50);
    for (const { history, grant, t } of holds)
      expect(intruded(history, grant.path, t, 'owner', 1), grant.id).to.include('overlaps');
  });

  it('has one if a lease is granted beyond the maximum', () => {
    const leases = histories.flatMap((history) =>
      holdsIn(history)
        .filter(({ grant }) => grant.role === 'lease' && history.run.leases?.[grant.path] !== undefined)
        .map((hold) => ({ history, ...hold })),
    );
    expect(leases).to.have.length.above(5);
    for (const { history, grant, t } of leases) {
      const max = history.run.leases?.[grant.path] ?? 0;
      expect(intruded(history, grant.path, t, 'lease', max), grant.id).to.include('leases');
    }
  });
});
