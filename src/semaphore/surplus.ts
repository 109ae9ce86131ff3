import type { Clock } from '../support/clock.js';
import { LimitMismatchError } from './limit-mismatch-error.js';

/**
 * More leases on the server than there are by our count: others on this path use a larger maxLeases. Only znodes that
 * stay say so, because a
 * process may have died in the middle of an acquire, or may be about to delete its znode.
 */
export class Surplus {
  readonly #options: SurplusOptions;
  /** The znodes before ours, and when each of them was seen first. */
  #seen: ReadonlyMap<string, number> = new Map();

  constructor(options: SurplusOptions) {
    this.#options = options;
  }

  /**
   * @param before the names of the leases before the one that waits, as a server has just listed them
   * @returns in how many milliseconds to list again; Infinity where there is no surplus
   * @throws LimitMismatchError when too many have stayed for too long
   */
  look(before: readonly string[]): number {
    const { path, maxLeases, clock, stayMs } = this.#options;
    const now = clock.now();
    this.#seen = new Map(before.map((name) => [name, this.#seen.get(name) ?? now]));
    const firstSeen = [...this.#seen.values()].sort((a, b) => a - b);
    // As many as there are leases may stay: the next one is what must not.
    const surplusSince = firstSeen[maxLeases];
    if (surplusSince === undefined) return Infinity;
    const leftMs = surplusSince + stayMs() - now;
    if (leftMs > 0) return leftMs;
    const stayed = firstSeen.filter((since) => since <= surplusSince).length;
    throw new LimitMismatchError(path, maxLeases, stayed, Math.round(now - surplusSince));
  }
}

/** What is known of the semaphore that is waited for. */
export interface SurplusOptions {
  readonly path: string;
  readonly maxLeases: number;
  readonly clock: Pick<Clock, 'now'>;
  /** How long a znode has to stay before it counts. A process that dies leaves its znodes until its session ends. */
  readonly stayMs: () => number;
}
