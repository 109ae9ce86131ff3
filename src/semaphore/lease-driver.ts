import type { LockDecision, LockDriver } from '../driver/lock-driver.js';
import { placeOf, sortedByKey } from '../driver/names.js';

/**
 * Decides which participants hold a lease of a semaphore: the first `maxLeases`, in the layout of Curator's
 * InterProcessSemaphoreV2. Java's clients ask instead whether the number of children is at most `maxLeases`. A client
 * that Java grants is always among the first, so both rules on one path never grant too many leases.
 */
export class LeaseDriver implements LockDriver {
  readonly lockName = leaseName;
  /** The server's sequence numbers rise, so a new child is last. */
  readonly appendOnly = true;
  readonly #maxLeases: () => number;

  /**
   * @param maxLeases returns the number of leases now; below 1, which a shared count may say, no participant holds a
   * lease
   */
  constructor(maxLeases: () => number) {
    this.#maxLeases = maxLeases;
  }

  sort(children: readonly string[]): string[] {
    return sortedByKey(children, this.lockName);
  }

  decide(sorted: readonly string[], ours: string): LockDecision {
    const index = placeOf(sorted, ours);
    // Any holder may release first. This name only says that one of them has to.
    return index < this.#maxLeases() ? { held: true } : { held: false, watch: sorted[0] ?? ours };
  }
}

/** Curator's LEASE_BASE_NAME. */
export const leaseName = 'lease-';
