import type { WeightedChild } from '../../src/weighted/weighted-name.ts';

/**
 * The waiter of a free lock with weights that is next. It is the rule as docs/locks/weights.md states it, word by word.
 *
 * @param overtakers the sequence numbers in the lock's data
 */
export function nextByWeight(
  waiters: readonly WeightedChild[],
  overtakers: readonly number[],
): WeightedChild | undefined {
  const overtaken = (one: WeightedChild): number => overtakers.filter((sequence) => sequence > one.sequence).length;
  const mayPass = (one: WeightedChild, other: WeightedChild): boolean =>
    overtaken(other) < other.overtakesPerWeight * (one.weight - other.weight);
  const byWeight = waiters.toSorted((a, b) => b.weight - a.weight || a.sequence - b.sequence);
  return byWeight.find((one) =>
    waiters.every((other) => other.sequence >= one.sequence || other.weight >= one.weight || mayPass(one, other)),
  );
}
