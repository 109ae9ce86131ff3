import { randomUUID } from 'node:crypto';

/** Chance as an argument: a simulation that passes its own can be replayed. */
export interface Chance {
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** A new uuid, with hyphens. */
  readonly uuid: () => string;
}

// Read when the module loads, so that a test library that replaces Math.random later does not affect the lock.
const { random } = Math;

export const systemChance: Chance = { random: () => random(), uuid: () => randomUUID() };

/** Returns a copy in random order. `random` is a function such as Math.random. */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const left = [...items];
  const taken: T[] = [];
  while (left.length > 0) taken.push(...left.splice(Math.floor(random() * left.length), 1));
  return taken;
}
