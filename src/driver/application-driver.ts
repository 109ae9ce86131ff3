import { askApplication } from '../support/no-context.js';
import type { LockDecision, LockDriver } from './lock-driver.js';

/**
 * An application's driver, asked outside of every lock context: it is application code, which must not act as the owner
 * of a lock.
 */
export class ApplicationDriver implements LockDriver {
  readonly original: LockDriver;
  readonly lockName: string;
  readonly lockNames: readonly string[] | undefined;
  readonly appendOnly: boolean;

  constructor(original: LockDriver) {
    this.original = original;
    this.lockName = original.lockName;
    this.lockNames = original.lockNames;
    this.appendOnly = original.appendOnly;
  }

  sort(children: readonly string[]): string[] {
    return askApplication(() => this.original.sort(children));
  }

  decide(sorted: readonly string[], ours: string): LockDecision {
    return askApplication(() => this.original.decide(sorted, ours));
  }
}

/** Whether two locks are decided by one driver, though each of them may have wrapped it. */
export function isSameDriver(one: LockDriver, other: LockDriver): boolean {
  return originalOf(one) === originalOf(other);
}

function originalOf(driver: LockDriver): LockDriver {
  return driver instanceof ApplicationDriver ? driver.original : driver;
}
