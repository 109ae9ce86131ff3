import { Random } from '../lab/random.ts';
import { drawGround } from './draw-ground.ts';
import { withMoves } from './draw-moves.ts';
import { withMultiLocks } from './draw-multi-locks.ts';
import { drawPlan } from './draw-plan.ts';
import { withTurns } from './draw-turns.ts';
import { isFault, type Plan, type Step } from './plan.ts';

/**
 * A plan by the numbers that it comes from: the seed that it was drawn from, and those of its mutations. Its text, such as
 * `17~5003`, is what `--seeds` takes.
 */
export type Lineage = readonly [seed: number, ...mutations: number[]];

export function textOf(lineage: Lineage): string {
  return lineage.join('~');
}

/** Returns undefined if the text is not that of a lineage. */
export function lineageOf(text: string): Lineage | undefined {
  if (!/^\d+(~\d+)*$/.test(text)) return undefined;
  const [seed = 0, ...mutations] = text.split('~').map(Number);
  return [seed, ...mutations];
}

export function planOf(
  [seed, ...mutations]: Lineage,
  size: { readonly steps: number; readonly members: number },
): Plan {
  // Every second plan is one of grounds.
  const drawn = withMultiLocks(withTurns(withMoves(seed % 2 === 0 ? drawGround(seed, size) : drawPlan(seed, size))));
  return mutations.reduce((plan, mutation) => mutated(plan, mutation, size), drawn);
}

/** One to three small changes of a plan. */
function mutated(plan: Plan, mutation: number, size: { readonly steps: number; readonly members: number }): Plan {
  const random = new Random(mutation, 4);
  const donor = drawPlan(mutation, size);
  let { steps } = plan;
  for (let changes = 1 + random.whole(3); changes > 0; changes -= 1) steps = changed(steps, donor, random);
  return { ...plan, steps: steps.toSorted((a, b) => a.at - b.at) };
}

function changed(steps: readonly Step[], donor: Plan, random: Random): readonly Step[] {
  const from = random.whole(steps.length);
  const count = 1 + random.whole(8);
  const at = steps[from]?.at ?? 0;
  const inside = (_: Step, index: number): boolean => index >= from && index < from + count;
  switch (random.whole(5)) {
    case 0: // what was seconds apart comes within ten milliseconds
      return steps.map((step, index) => (inside(step, index) ? { ...step, at: at + random.between(0, 10) } : step));
    case 1:
      return steps.length > count ? steps.toSpliced(from, count) : steps;
    case 2: {
      const later = random.between(0, 1.5) * donor.sessionTimeoutMs;
      return [...steps, ...steps.filter(inside).map((step) => ({ ...step, at: step.at + later }))];
    }
    case 3: {
      // A call fits only the locks of its own plan.
      const faults = donor.steps.filter(isFault).slice(0, count);
      const begin = faults[0]?.at ?? 0;
      return [...steps, ...faults.map((fault) => ({ ...fault, at: at + fault.at - begin }))];
    }
    default: {
      const later = random.between(0, 20);
      return steps.map((step, index) => (index >= from ? { ...step, at: step.at + later } : step));
    }
  }
}
