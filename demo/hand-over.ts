import { milliseconds, type Entry, type Visit } from './job.ts';

/**
 * Milliseconds from one job's call of `release()` to the grant of the next job. Undefined if nothing was handed over:
 * there was no job before, the lock was free when the next job asked, or the two jobs do not follow one another.
 */
export function handOverMs(previous: Visit | undefined, next: Entry): number | undefined {
  if (previous === undefined || next.askedAt > previous.leftAt || next.grantedAt < previous.leftAt) return undefined;
  return milliseconds(previous.leftAt, next.grantedAt);
}
