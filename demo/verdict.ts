import { handOverMs } from './hand-over.ts';
import { milliseconds, sequenceOf, type Visit } from './job.ts';

export interface Verdict {
  readonly jobs: number;
  readonly planned: number;
  /** Pairs of jobs that were inside at the same time, by their clock. */
  readonly overlaps: number;
  /** Jobs that found the marker of another job inside. */
  readonly meetings: number;
  readonly orderKept: boolean;
  readonly medianWaitMs: number | undefined;
  readonly medianHandOverMs: number | undefined;
  readonly tookMs: number;
}

export function judge(visits: readonly Visit[], planned: number, tookMs: number): Verdict {
  return {
    jobs: visits.length,
    planned,
    overlaps: countOverlaps(visits),
    meetings: visits.filter(({ metAnotherJob }) => metAnotherJob).length,
    orderKept: isOrderKept(visits),
    medianWaitMs: median(visits.map(({ askedAt, grantedAt }) => milliseconds(askedAt, grantedAt))),
    medianHandOverMs: median(handOversOf(visits)),
    tookMs,
  };
}

export function isGood({ jobs, planned, overlaps, meetings, orderKept }: Verdict): boolean {
  return jobs === planned && overlaps === 0 && meetings === 0 && orderKept;
}

export function table(verdict: Verdict): string {
  const rows: readonly (readonly [string, string])[] = [
    ['jobs', verdict.jobs === verdict.planned ? `${verdict.jobs}` : `${verdict.jobs} of ${verdict.planned}`],
    ['overlaps', `${verdict.overlaps}`],
    ['met another job inside', `${verdict.meetings}`],
    ['order kept', verdict.orderKept ? 'yes' : 'no'],
    ['median wait', inMilliseconds(verdict.medianWaitMs, 0)],
    ['median hand-over', inMilliseconds(verdict.medianHandOverMs, 1)],
    ['took', `${(verdict.tookMs / 1_000).toFixed(1)} s`],
  ];
  const width = Math.max(...rows.map(([label]) => label.length));
  return rows.map(([label, value]) => `${label.padStart(width)} ${value}`).join('\n');
}

/**
 * Pairs of visits that were inside at the same time. A visit that begins at the instant at which another ends does not
 * overlap it.
 */
export function countOverlaps(visits: readonly Visit[]): number {
  return visits.flatMap((a, index) =>
    visits.slice(index + 1).filter((b) => a.grantedAt < b.leftAt && b.grantedAt < a.leftAt),
  ).length;
}

/**
 * True if all jobs were granted in the order in which the server created their znodes. Their sequence numbers and their
 * transaction ids show that order.
 */
export function isOrderKept(visits: readonly Visit[]): boolean {
  return neighbours(inOrderOfGrants(visits)).every(
    ([a, b]) => a.token < b.token && sequenceOf(a.path) < sequenceOf(b.path),
  );
}

export function handOversOf(visits: readonly Visit[]): number[] {
  return neighbours(inOrderOfGrants(visits))
    .map(([previous, next]) => handOverMs(previous, next))
    .filter((handOver) => handOver !== undefined);
}

export function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  return upper === undefined || lower === undefined ? undefined : (upper + lower) / 2;
}

function inOrderOfGrants(visits: readonly Visit[]): Visit[] {
  return visits.toSorted((a, b) => (a.grantedAt < b.grantedAt ? -1 : 1));
}

function neighbours<T>(items: readonly T[]): [T, T][] {
  return items.slice(1).map((next, index) => [items[index] as T, next]);
}

function inMilliseconds(value: number | undefined, digits: number): string {
  return value === undefined ? '-' : `${value.toFixed(digits)} ms`;
}
