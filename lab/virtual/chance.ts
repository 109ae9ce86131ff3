import { createRequire } from 'node:module';
import { Random } from '../random.ts';

const require = createRequire(import.meta.url);

/**
 * Lets all randomness of this process depend on the seed. Returns the source of the delays in the network: undefined
 * without a seed, because then all delays are the same.
 */
export function seedChance(seed: string | undefined): Random | undefined {
  const chance = new Random(Number(seed ?? 0), 0);
  Math.random = () => chance.next();
  Object.assign(require('node:crypto') as object, { randomUUID: () => uuidOf(chance) });
  return seed === undefined ? undefined : new Random(Number(seed), 1);
}

export function uuidOf(chance: Random): string {
  const digits = (count: number): string => Array.from({ length: count }, () => chance.whole(16).toString(16)).join('');
  return `${digits(8)}-${digits(4)}-4${digits(3)}-${'89ab'.charAt(chance.whole(4))}${digits(3)}-${digits(12)}`;
}
