import { milliseconds, type Entry, type Visit } from './job.ts';

/**
 * From the call of `release()` by one job to the grant of the next. Undefined where nothing was handed over: there was
 * nobody before, the
 * lock was free when the next one asked, or the two do not follow one another.
 */
export function handOverMs(previous: Visit | undefined, next: Entry): number | undefined {
  if (previous === undefined || next.askedAt > previous.leftAt || next.grantedAt < previous.leftAt) return undefined;
  return milliseconds(previous.leftAt, next.grantedAt);
}
