import { Random } from '../lab/random.ts';
import { clientsOf, type Plan, type Step } from './plan.ts';

/**
 * Before the steps of every tenth plan, all servers lose their data while the clients have sessions. Exclusion and the
 * order of tokens do not outlast the data, so the calls before are bursts of locks that nobody else wants. The steps of
 * the seed stay the same, and may begin before the servers are back.
 */
export function withWipe(plan: Plan): Plan {
  const random = new Random(plan.seed, 10);
  if (!random.chance(0.1)) return plan;
  const { processes, sessionTimeoutMs } = plan;
  const clients = clientsOf(processes);
  const at = random.between(500, 2_500);
  const forMs = Math.round(sessionTimeoutMs * random.pick([0.02, 0.5, 1.5, 3]) * random.between(0.5, 1.5));
  const bursts = Array.from({ length: 1 + random.whole(3) }, (): Step => {
    return { at: random.between(200, at), do: 'burst', client: random.whole(clients), locks: 1 + random.whole(20) };
  });
  const steps = [...bursts.toSorted((a, b) => a.at - b.at), { at, do: 'wipe', forMs } as const];
  return { ...plan, prologue: { steps, forMs: at + forMs * random.between(0, 1.2) } };
}
