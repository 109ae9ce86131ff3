import type { LockDecision, LockDriver } from './lock-driver.js';
import { placeOf, sortedByKey } from './names.js';

/**
 * First come, first served, in the order in which the server created the znodes: the rule of Curator's
 * StandardLockInternalsDriver, name by name, so that Java clients in the same queue agree on who is next.
 *
 * A child holds if and only if fewer than `maxLeases` children stand before it. Otherwise it waits for the one
 * `maxLeases` places ahead of it, whose end is the first event that can let it in.
 *
 * @example
 * const sorted = standardDriver.sort(['lock-0000000008', '_c_0f…-lock-0000000007']);
 * standardDriver.decide(sorted, 'lock-0000000008', 1); // { held: false, watch: '_c_0f…-lock-0000000007' }
 */
export class StandardDriver implements LockDriver {
  /** Curator's LOCK_NAME of InterProcessMutex. */
  readonly lockName = 'lock-';
  /** The server counts upwards, so newcomers are last. */
  readonly appendOnly = true;

  /** By what stands behind the last `lock-` in each name, compared as Java compares strings. */
  sort(children: readonly string[]): string[] {
    return sortedByKey(children, this.lockName);
  }

  /**
   * Looks `maxLeases` places ahead of `ours`: nobody there, and it holds.
   *
   * @throws RangeError if `ours` is not in `sorted`, or `maxLeases` is neither an integer ≥ 1 nor Infinity
   */
  decide(sorted: readonly string[], ours: string, maxLeases: number): LockDecision {
    requireLeases(maxLeases);
    const watch = sorted[placeOf(sorted, ours) - maxLeases];
    return watch === undefined ? { held: true } : { held: false, watch };
  }
}

/** The driver of every lock that names no other: it has no state, so one instance serves all. */
export const standardDriver = new StandardDriver();

function requireLeases(maxLeases: number): void {
  if (maxLeases === Infinity || (Number.isInteger(maxLeases) && maxLeases >= 1)) return;
  throw new RangeError(`Expected \`maxLeases\` to be an integer ≥ 1 or Infinity, got ${maxLeases}`);
}
