import type { Plan, Step } from '../../../simulation/plan.ts';

/** A plain call, which holds the lock for this time. */
export function call(at: number, client = 0, holdMs = 10): Step {
  return { at, do: 'call', client, lock: 0, how: 'plain', role: 'owner', holdMs };
}

/** Two clients of one server, which take these steps. */
export function plain(steps: readonly Step[]): Plan {
  return {
    seed: 1,
    members: 1,
    tickTimeMs: 500,
    sessionTimeoutMs: 2_000,
    leastDelayMs: 1,
    mostDelayMs: 2,
    knowsTick: false,
    processes: Array.from({ length: 2 }, () => ({ clients: 1, clockRate: 1, clockOffsetMs: 0 })),
    locks: [{ path: '/locks/a', is: 'mutex' }],
    steps,
  };
}

/** The first job writes long after the end of the run, and the others wait for its lock. */
export const hanging = plain(
  Array.from({ length: 6 }, (_, index) => {
    const step = call(300 + index * 50, index % 2, 400);
    return index === 0 ? { ...step, writes: [{ afterMs: 1e9, fails: false, floats: false }] } : step;
  }),
);
