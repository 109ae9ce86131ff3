import { Random } from '../lab/random.ts';
import { drawGround } from './draw-ground.ts';
import { withMoves } from './draw-moves.ts';
import { withMultiLocks } from './draw-multi-locks.ts';
import { drawPlan } from './draw-plan.ts';
import { withWipe } from './draw-wipe.ts';
import { withTurns } from './draw-turns.ts';
import type { LockPlan, Plan, Step } from './plan.ts';

/**
 * A plan by the seeds that it comes from: its own, and those of the plans that it was crossed with. Its text, such as
 * `17~5003`, is what `--seeds` takes.
 */
export type Lineage = readonly [seed: number, ...mates: number[]];

export function textOf(lineage: Lineage): string {
  return lineage.join('~');
}

/** Returns undefined if the text is not that of a lineage. */
export function lineageOf(text: string): Lineage | undefined {
  if (!/^\d{1,15}(~\d{1,15})*$/.test(text)) return undefined;
  const [seed = 0, ...mates] = text.split('~').map(Number);
  return [seed, ...mates];
}

export function planOf([seed, ...mates]: Lineage, size: Size): Plan {
  return mates.reduce((plan, mate) => crossed(plan, mate, size), drawn(seed, size));
}

interface Size {
  readonly steps: number;
  readonly members: number;
}

/** Every second plan is one of grounds. */
function drawn(seed: number, size: Size): Plan {
  return withWipe(withMultiLocks(withTurns(withMoves(seed % 2 === 0 ? drawGround(seed, size) : drawPlan(seed, size)))));
}

/**
 * The plan, crossed with the plan of another seed: all locks of both, the begin of the one's steps, and beside it the end
 * of the other's. Circumstances that neither was drawn for come together, in as many steps as one of them has.
 */
function crossed(plan: Plan, seed: number, size: Size): Plan {
  const random = new Random(seed, 4);
  const mate = behind(plan.locks.length, drawn(seed, size));
  const share = random.between(0.2, 0.8);
  const begin = plan.steps.slice(0, Math.ceil(share * plan.steps.length));
  const end = mate.steps.slice(Math.ceil(share * mate.steps.length));
  // The end begins while the begin goes on.
  const laterMs = (begin[random.whole(begin.length)]?.at ?? 0) - (end[0]?.at ?? 0);
  const moved = end.map((step) => ({ ...step, at: step.at + laterMs }));
  return {
    ...(random.chance(0.5) ? plan : mate),
    seed,
    locks: [...plan.locks, ...mate.locks],
    steps: [...begin, ...moved].toSorted((a, b) => a.at - b.at),
  };
}

/** The plan, with its locks behind so many others. */
function behind(others: number, plan: Plan): Plan {
  const { locks, steps, prologue } = plan;
  const shifted = (step: Step): Step => ('lock' in step ? { ...step, lock: step.lock + others } : step);
  return {
    ...plan,
    locks: locks.map((lock) => renamed(lock, others)),
    steps: steps.map(shifted),
    ...(prologue && { prologue: { ...prologue, steps: prologue.steps.map(shifted) } }),
  };
}

function renamed(lock: LockPlan, number: number): LockPlan {
  const path = `${lock.path}.${number}`;
  return 'sharedCount' in lock ? { ...lock, path, sharedCount: `${lock.sharedCount}.${number}` } : { ...lock, path };
}
