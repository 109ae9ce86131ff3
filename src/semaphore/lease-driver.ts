import type { LockDecision, LockDriver } from '../driver/lock-driver.js';
import { placeOf, sortedByKey } from '../driver/names.js';

/**
 * Who holds a lease of a semaphore: the first `maxLeases` of Curator's InterProcessSemaphoreV2 layout. Java's clients
 * ask instead whether all children
 * are at most `maxLeases`; whoever they let in is among the first, so both rules on one path never let more in.
 */
export class LeaseDriver implements LockDriver {
  readonly lockName = leaseName;
  /** The server counts upwards, so newcomers are last. */
  readonly appendOnly = true;
  readonly #maxLeases: () => number;

  /** @param maxLeases how many leases there are now; below 1 nobody holds one: a shared count may say so */
  constructor(maxLeases: () => number) {
    this.#maxLeases = maxLeases;
  }

  sort(children: readonly string[]): string[] {
    return sortedByKey(children, this.lockName);
  }

  decide(sorted: readonly string[], ours: string): LockDecision {
    const index = placeOf(sorted, ours);
    // Any holder may leave first: the name only says that one of them has to.
    return index < this.#maxLeases() ? { held: true } : { held: false, watch: sorted[0] ?? ours };
  }
}

/** Curator's LEASE_BASE_NAME. */
export const leaseName = 'lease-';
