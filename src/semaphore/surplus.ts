import type { Clock } from '../support/clock.js';
import { LimitMismatchError } from './limit-mismatch-error.js';

/**
 * Finds more leases on the server than this client's limit allows, because other clients of this path use a larger
 * maxLeases. Only znodes that stay count: a process may have died in the middle of an acquire, or may be about to
 * delete its znode.
 */
export class Surplus {
  readonly #options: SurplusOptions;
  /** The znodes before our own, and when each was first seen. */
  #seen: ReadonlyMap<string, number> = new Map();

  constructor(options: SurplusOptions) {
    this.#options = options;
  }

  /**
   * @param before the names of the leases before the one that waits, as a server has just listed them
   * @returns the milliseconds until the next list; Infinity if there is no surplus
   * @throws LimitMismatchError when too many leases have stayed for too long
   */
  look(before: readonly string[]): number {
    const { path, maxLeases, clock, stayMs } = this.#options;
    const now = clock.now();
    this.#seen = new Map(before.map((name) => [name, this.#seen.get(name) ?? now]));
    const firstSeen = [...this.#seen.values()].sort((a, b) => a - b);
    // As many znodes as there are leases may stay. The next znode must not.
    const surplusSince = firstSeen[maxLeases];
    if (surplusSince === undefined) return Infinity;
    const leftMs = surplusSince + stayMs() - now;
    if (leftMs > 0) return leftMs;
    const stayed = firstSeen.filter((since) => since <= surplusSince).length;
    throw new LimitMismatchError(path, maxLeases, stayed, Math.round(now - surplusSince));
  }
}

/** The semaphore for which the call waits. */
export interface SurplusOptions {
  readonly path: string;
  readonly maxLeases: number;
  readonly clock: Pick<Clock, 'now'>;
  /** How long a znode has to stay before it counts. The znodes of a process that died stay until its session ends. */
  readonly stayMs: () => number;
}
