import { expect } from 'chai';
import type { LockClient } from '../../src/index.ts';
import type { LockPlan, Plan, Step } from '../../simulation/plan.ts';
import { Simulation } from '../../simulation/simulation.ts';

describe('a process that stalls beyond the deadline of its hold', () => {
  it('never tells that it is reconnected by the session that is lost', async () => {
    for (let unreadAfterMs = 64; unreadAfterMs <= 112; unreadAfterMs += 12) {
      const told: string[] = [];
      await run(
        [
          call(500, 0, 10),
          call(1_000, 1, 20_000),
          { at: 3_000, do: 'reset', client: 0, loses: 'both' },
          call(3_030, 0, 10), // waits for the idle sticky lock of its own process, and looks at the session
          { at: 3_000 + unreadAfterMs, do: 'stall', process: 0, forMs: 3_900 },
        ],
        (client) =>
          client.on('state', (state) => {
            const isUp = state === 'connected' || state === 'reconnected';
            told.push(isUp && client.session.isEnded ? `${state} by an ended session` : state);
          }),
      );
      expect(told, `${unreadAfterMs} ms`).to.include('lost').and.not.to.include('reconnected by an ended session');
    }
  });

  it('deletes its znode when it is closed right after the stall, though a listener looks at its health', async () => {
    const closedAndGone: number[] = [];
    await run(
      [
        call(1_000, 1, 60_000),
        { at: 3_000, do: 'stall', process: 0, forMs: 3_650 },
        { at: 3_100, do: 'close', client: 0, timeoutMs: 5_000, successorAfterMs: 60_000 },
      ],
      (client, now, simulation) => {
        client.on('lock', () => client.health());
        client.on('state', (state) => state === 'closed' && closedAndGone.push(now()));
        simulation.world.servers.ensemble.onCommit(({ changes: [change] }) => {
          if (change?.is === 'deleted' && change.path.startsWith('/locks/b/')) closedAndGone.push(now());
        });
      },
    );
    const [first = NaN, second = NaN] = closedAndGone;
    expect(closedAndGone).to.have.length(2);
    expect(second - first).to.be.below(100);
  });
});

const locks: readonly LockPlan[] = [
  { path: '/locks/a', is: 'sticky', idleMs: 60_000 },
  { path: '/locks/b', is: 'mutex' },
];

async function run(
  steps: readonly Step[],
  begin: (client: LockClient, now: () => number, simulation: Simulation) => void,
): Promise<void> {
  const plan: Plan = {
    seed: 1,
    members: 3,
    tickTimeMs: 500,
    sessionTimeoutMs: 4_000,
    leastDelayMs: 20,
    mostDelayMs: 20,
    knowsTick: false,
    processes: [{ clients: 1, clockRate: 1, clockOffsetMs: 0 }],
    locks,
    steps,
  };
  const simulation = new Simulation(plan);
  const now = (): number => simulation.world.machine.time.agenda.now;
  void simulation.world.clients[0]?.connected.then((client) => begin(client, now, simulation));
  await simulation.run();
}

function call(at: number, lock: number, holdMs: number): Step {
  return { at, do: 'call', client: 0, lock, how: 'plain', role: 'owner', holdMs };
}
