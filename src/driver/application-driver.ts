import { askApplication } from '../support/no-context.js';
import type { LockDecision, LockDriver } from './lock-driver.js';

/**
 * Calls an application's driver outside of every lock context, because application code must not act as the owner of a
 * lock.
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

/** True if both drivers are the same application driver, even if each lock has wrapped it. */
export function isSameDriver(one: LockDriver, other: LockDriver): boolean {
  return originalOf(one) === originalOf(other);
}

function originalOf(driver: LockDriver): LockDriver {
  return driver instanceof ApplicationDriver ? driver.original : driver;
}
