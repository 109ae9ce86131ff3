import type { Plan, Step } from './plan.ts';

/** Seeds whose session clocks are recorded. */
export const clockTraces: ReadonlyMap<string, number> = new Map(
  [1, 2, 3, 4].map((seed) => [`clock of seed ${seed}`, seed]),
);

/** Small runs of one mutex, for the search of TLC. */
export const queuePlans: ReadonlyMap<string, Plan> = new Map([
  ['queue of look-ahead', plan(3, [call(300, 0), call(310, 1), call(320, 2)])],
  ['queue of hand-over', plan(2, [call(300, 0), call(310, 0), call(320, 1)])],
  ['queue of a chain and a list', plan(2, [call(300, 0, 60), call(310, 1), call(320, 0)])],
  [
    'queue of lost answers',
    plan(2, [call(300, 0, 40), call(310, 1), { at: 311.5, do: 'reset', client: 1, loses: 'answers' }]),
  ],
  [
    'queue of a deleted waiter',
    plan(2, [call(300, 0, 60), call(310, 1), { at: 330, do: 'delete', lock: 0, index: 1 }]),
  ],
  [
    'queue of a deleted holder',
    plan(2, [call(300, 0, 60), call(310, 1), { at: 330, do: 'delete', lock: 0, index: 0 }]),
  ],
  [
    'queue of a lost session',
    plan(2, [
      call(300, 0, 5_000),
      call(310, 1),
      { at: 330, do: 'block', process: 0, member: 0, how: 'swallows', isForNew: false, forMs: 4_000 },
      // The faults of a plan end with its last step.
      call(4_400, 1),
    ]),
  ],
  ['queue of a waiter that gives up', plan(3, [call(300, 0, 80), { ...call(310, 1), timeoutMs: 30 }, call(320, 2)])],
]);

export const traceNames = [...clockTraces.keys(), ...queuePlans.keys()];

function plan(processes: number, steps: readonly Step[]): Plan {
  return {
    seed: 1,
    members: 1,
    tickTimeMs: 500,
    sessionTimeoutMs: 2_000,
    leastDelayMs: 1,
    mostDelayMs: 2,
    knowsTick: false,
    processes: Array.from({ length: processes }, () => ({ clients: 1, clockRate: 1, clockOffsetMs: 0 })),
    locks: [{ path: '/locks/a', is: 'mutex' }],
    steps,
  };
}

function call(at: number, client: number, holdMs = 30): Step & { readonly do: 'call' } {
  return { at, do: 'call', client, lock: 0, how: 'plain', role: 'owner', holdMs };
}
