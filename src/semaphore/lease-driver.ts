import type { LockDecision, LockDriver } from '../driver/lock-driver.js';
import { placeOf, sortedByKey } from '../driver/names.js';

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
    return sortedByKey(children, this.lockName);
  }

  /** @param maxLeases below 1 nobody holds: a shared count may say so */
  decide(sorted: readonly string[], ours: string, maxLeases: number): LockDecision {
    const index = placeOf(sorted, ours);
    // Any holder may leave first: the name only says that somebody has to.
    return index < maxLeases ? { held: true } : { held: false, watch: sorted[0] ?? ours };
  }
}

export const leaseDriver = new LeaseDriver();
