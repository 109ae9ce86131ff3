import { createRequire } from 'node:module';
import { Random } from '../random.ts';
import { usualMs } from './virtual-network.ts';

const require = createRequire(import.meta.url);

/**
 * All randomness of this process. That of a test, and of a `before` or `after` hook, depends on the seed and on the test
 * or the hook alone, and not on the tests before it.
 */
export interface VirtualChance {
  /** Draws the delays in the network. Undefined without a seed, because then all delays are the same. */
  readonly delay: (() => number) | undefined;
  /** The shortest and the longest time that `delay` draws, in milliseconds. */
  readonly delays: { readonly least: number; readonly most: number };
  /** Begins anew for the test or the hook of this title. */
  begin(title: string): void;
}

/** Replaces the sources of randomness of Node.js. */
export function virtualChance(seed: string | undefined): VirtualChance {
  const number = Number(seed ?? 0);
  let chance = new Random(number, 0);
  let delays = new Random(number, 1);
  Math.random = () => chance.next();
  Object.assign(require('node:crypto') as object, { randomUUID: () => chance.uuid() });
  return {
    delay: seed === undefined ? undefined : () => delays.between(drawn.least, drawn.most),
    delays: seed === undefined ? { least: usualMs, most: usualMs } : drawn,
    begin: (title) => {
      const index = 2 * hashOf(title);
      chance = new Random(number, index);
      delays = new Random(number, index + 1);
    },
  };
}

/** FNV-1a, of 31 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 1;
}

const drawn = { least: 0.02, most: 2 };
