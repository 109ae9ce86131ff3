import type { Plan, Step } from './plan.ts';
import { Simulation } from './simulation.ts';

/**
 * Drops steps as long as the same check fails without them: halves of the plan first, then smaller pieces, then single
 * steps. Returns the shortest plan that was found.
 */
export async function shrink(plan: Plan, check: string, mostRuns = 600): Promise<Plan> {
  let best = plan;
  let runs = 0;
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < best.steps.length && runs < mostRuns;) {
      const steps: Step[] = best.steps.toSpliced(at, size);
      runs += 1;
      if (steps.length > 0 && (await fails({ ...best, steps }, check))) best = { ...best, steps };
      else at += size;
    }
  }
  return best;
}

async function fails(plan: Plan, check: string): Promise<boolean> {
  const { violations } = await new Simulation(plan).run();
  return violations.some((violation) => violation.check === check);
}
