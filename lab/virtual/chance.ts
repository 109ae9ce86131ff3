import { createRequire } from 'node:module';
import { Random } from '../random.ts';

const require = createRequire(import.meta.url);

/**
 * Lets all randomness of this process depend on the seed. Returns what draws the delays in the network: undefined
 * without a seed, because then all delays are the same.
 */
export function seedChance(seed: string | undefined): (() => number) | undefined {
  const chance = new Random(Number(seed ?? 0), 0);
  Math.random = () => chance.next();
  Object.assign(require('node:crypto') as object, { randomUUID: () => chance.uuid() });
  const delays = new Random(Number(seed ?? 0), 1);
  return seed === undefined ? undefined : () => delays.between(shortestMs, longestMs);
}

const shortestMs = 0.02;
const longestMs = 2;
