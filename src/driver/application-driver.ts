import { askApplication } from '../support/no-context.js';
import { expected } from '../support/validate.js';
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
    const sorted = askApplication(() => this.original.sort(children));
    if (!Array.isArray(sorted)) throw new TypeError(expected('the result of driver.sort', 'an array', sorted));
    return sorted;
  }

  decide(sorted: readonly string[], ours: string): LockDecision {
    const decision: unknown = askApplication(() => this.original.decide(sorted, ours));
    const { held, watch } = (decision ?? {}) as { readonly [Key in 'held' | 'watch']?: unknown };
    if (held !== true && (held !== false || typeof watch !== 'string'))
      throw new TypeError(
        expected('the result of driver.decide', '{ held: true } or { held: false, watch: string }', decision),
      );
    return decision as LockDecision;
  }
}

/** True if both drivers are the same application driver, even if each lock has wrapped it. */
export function isSameDriver(one: LockDriver, other: LockDriver): boolean {
  return originalOf(one) === originalOf(other);
}

function originalOf(driver: LockDriver): LockDriver {
  return driver instanceof ApplicationDriver ? driver.original : driver;
}
