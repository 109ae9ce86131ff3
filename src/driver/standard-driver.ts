import type { LockDecision, LockDriver } from './lock-driver.js';
import { placeOf, sortedByKey } from './names.js';

/**
 * First come, first served, in the order in which the server created the znodes. This is the rule of Curator's
 * StandardLockInternalsDriver, name by name, so that Java clients in the same queue name the same next holder.
 *
 * A child holds the lock if and only if it is the first. Otherwise it waits for the child right before it.
 *
 * @example
 * const sorted = standardDriver.sort(['lock-0000000008', '_c_0f…-lock-0000000007']);
 * standardDriver.decide(sorted, 'lock-0000000008'); // { held: false, watch: '_c_0f…-lock-0000000007' }
 */
export class StandardDriver implements LockDriver {
  /** Curator's LOCK_NAME of InterProcessMutex. */
  readonly lockName: string = 'lock-';
  /** The server counts upwards, so new children are last. */
  readonly appendOnly = true;

  /** Sorts by the text after the last `lockName` in each name, compared as Java compares strings. */
  sort(children: readonly string[]): string[] {
    return sortedByKey(children, this.lockName);
  }

  /** @throws RangeError if `ours` is not in `sorted` */
  decide(sorted: readonly string[], ours: string): LockDecision {
    const watch = sorted[placeOf(sorted, ours) - 1];
    return watch === undefined ? { held: true } : { held: false, watch };
  }
}

class LatchDriver extends StandardDriver {
  override readonly lockName = 'latch-';
}

/** The driver of every lock that names no other driver. It has no state, so one instance serves all locks. */
export const standardDriver = new StandardDriver();

/** The driver of every election with the protocol of Curator's LeaderLatch: the same order, with LeaderLatch's names. */
export const latchDriver: LockDriver = new LatchDriver();

/** False for any driver of an application, which may let several holders in at once. */
export function isStandard(driver: LockDriver): boolean {
  return Object.getPrototypeOf(driver) === StandardDriver.prototype;
}
