import { handOverMs } from './hand-over.ts';
import { milliseconds, nameOf, type Ask, type Entry, type Visit } from './job.ts';

/** The workers' queue: which jobs wait, which job holds the lock, and which jobs are done, as the workers report it. */
export class Board {
  readonly #waiting = new Map<number, Ask>();
  readonly #inside = new Map<number, Entry>();
  readonly #visits = new Map<number, Visit>();
  readonly #untold: Entry[] = [];
  #lastTold: Entry | undefined;
  #told = 0;

  get visits(): readonly Visit[] {
    return [...this.#visits.values()];
  }

  insideOf(worker: number): Entry | undefined {
    return [...this.#inside.values()].find((entry) => entry.worker === worker);
  }

  asked(ask: Ask): void {
    this.#waiting.set(ask.job, ask);
  }

  granted(entry: Entry): void {
    this.#waiting.delete(entry.job);
    this.#inside.set(entry.job, entry);
    this.#untold.push(entry);
  }

  left(visit: Visit): void {
    this.#inside.delete(visit.job);
    this.#visits.set(visit.job, visit);
  }

  /**
   * One line for each grant that can be printed now. Each worker has a channel of its own, so the news of a grant may
   * arrive before the news of the release that led to it. Such a grant is held back until the release arrives.
   */
  lines(): string[] {
    this.#untold.sort((a, b) => (a.grantedAt < b.grantedAt ? -1 : 1));
    const lines: string[] = [];
    while (this.#lastTold === undefined || !this.#inside.has(this.#lastTold.job)) {
      const entry = this.#untold.shift();
      if (entry === undefined) break;
      lines.push(this.#tell(entry));
    }
    return lines;
  }

  /** The remaining lines, after the last news has arrived. */
  lastLines(): string[] {
    return this.#untold.splice(0).map((entry) => this.#tell(entry));
  }

  status(): string {
    const waiting = byWorker(this.#queue()).map(([worker, jobs]) => `worker ${worker}: ${jobs.join(' ')}`);
    const holder = this.#lastTold && this.#inside.get(this.#lastTold.job);
    return `holds: ${holder ? nameOf(holder) : 'nobody'} | waits: ${waiting.join(', ') || 'nobody'}`;
  }

  #tell(entry: Entry): string {
    const previous = this.#lastTold && this.#visits.get(this.#lastTold.job);
    this.#lastTold = entry;
    this.#told += 1;
    return grantLine(this.#told, entry, handOverMs(previous, entry), this.#queue());
  }

  /** The longest waiter comes first. */
  #queue(): Ask[] {
    return [...this.#waiting.values()].sort((a, b) => (a.askedAt < b.askedAt ? -1 : 1));
  }
}

function grantLine(count: number, entry: Entry, handOver: number | undefined, queue: readonly Ask[]): string {
  const [longest] = queue;
  return [
    `${count}`.padStart(3),
    nameOf(entry).padEnd(15),
    `token ${entry.token}`,
    `waited ${milliseconds(entry.askedAt, entry.grantedAt).toFixed(0).padStart(4)} ms`,
    handOver === undefined ? 'no hand-over       ' : `hand-over ${handOver.toFixed(1).padStart(5)} ms`,
    longest === undefined ? 'nobody waits' : `${queue.length} wait, longest ${nameOf(longest)}`,
    ...(entry.metAnotherJob ? ['ANOTHER JOB IS INSIDE'] : []),
  ].join('  ');
}

function byWorker(queue: readonly Ask[]): [number, number[]][] {
  const jobs = new Map<number, number[]>();
  for (const { worker, job } of queue) jobs.set(worker, [...(jobs.get(worker) ?? []), job]);
  return [...jobs].sort(([a], [b]) => a - b);
}
