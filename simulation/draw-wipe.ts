import { Random } from '../lab/random.ts';
import { drawCall } from './draw-call.ts';
import { clientsOf, type Plan, type Step } from './plan.ts';

/**
 * Before the steps of every tenth plan, all servers lose their data under holds, waiters and bursts of acquires. Nothing
 * outlasts the data, so the judge sees two histories. The steps of the seed stay the same, and may begin before the
 * servers are back.
 */
export function withWipe(plan: Plan): Plan {
  const random = new Random(plan.seed, 10);
  if (!random.chance(0.1)) return plan;
  const clients = clientsOf(plan.processes);
  const at = random.between(500, 2_500);
  const forMs = Math.round(plan.sessionTimeoutMs * random.pick([0.02, 0.5, 1.5, 3]) * random.between(0.5, 1.5));
  const bursts = Array.from({ length: 1 + random.whole(3) }, (): Step => {
    return { at: random.between(200, at), do: 'burst', client: random.whole(clients), locks: 1 + random.whole(20) };
  });
  const before = [...bursts, ...drawCalls(plan, at)].toSorted((a, b) => a.at - b.at);
  const steps = [...before, { at, do: 'wipe', forMs } as const];
  return { ...plan, prologue: { steps, forMs: at + forMs * random.between(0, 1.2) } };
}

/** Most of them outlast the data. */
function drawCalls({ seed, processes, locks, sessionTimeoutMs }: Plan, endsAt: number): Step[] {
  const random = new Random(seed, 11);
  const [clients, favourite, gapMs] = [clientsOf(processes), random.whole(locks.length), sessionTimeoutMs / 4];
  const mood = { clients, locks, favourite, gapMs, impatience: 0.2, sessionTimeoutMs };
  return Array.from({ length: random.whole(15) }, () => ({
    at: random.between(200, endsAt),
    ...drawCall(random, mood),
  }));
}
