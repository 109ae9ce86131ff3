import type { LockDecision, LockDriver } from './lock-driver.js';
import { compareKeys, sortKey } from './names.js';

/**
 * Who holds a lease of a semaphore: the first `maxLeases` of Curator's InterProcessSemaphoreV2 layout. Java's clients ask instead whether all children
 * are at most `maxLeases`; whoever they let in is among the first, so both rules on one path never let more in.
 */
export class LeaseDriver implements LockDriver {
  /** Curator's LEASE_BASE_NAME. */
  readonly lockName = 'lease-';
  /** The server counts upwards, so newcomers are last. */
  readonly appendOnly = true;

  sort(children: readonly string[]): string[] {
    return children
      .map((name) => ({ name, key: sortKey(name, this.lockName) }))
      .sort((a, b) => compareKeys(a.key, b.key))
      .map(({ name }) => name);
  }

  /** @param maxLeases below 1 nobody holds: a shared count may say so */
  decide(sorted: readonly string[], ours: string, maxLeases: number): LockDecision {
    const index = sorted.indexOf(ours);
    if (index < 0) throw new RangeError(`${ours} is not among the ${sorted.length} children that were given`);
    // Any holder may leave first: the name only says that somebody has to.
    return index < maxLeases ? { held: true } : { held: false, watch: sorted[0] ?? ours };
  }
}

export const leaseDriver = new LeaseDriver();
