/**
 * A planned job: the time at which it asks for the lock, counted from the common start, and the time for which it works
 * while it holds the lock.
 */
export interface Job {
  readonly number: number;
  readonly startMs: number;
  readonly holdMs: number;
}

/** A job that has asked for the lock. All times are nanoseconds of `now()`. */
export interface Ask {
  readonly worker: number;
  readonly job: number;
  readonly askedAt: bigint;
}

/** A job that holds the lock. */
export interface Entry extends Ask {
  readonly grantedAt: bigint;
  readonly token: bigint;
  /** The znode that stands for the hold. */
  readonly path: string;
  /** True if the marker of another job was already there. */
  readonly metAnotherJob: boolean;
}

/** A job from its ask to the moment when it called `release()`. */
export interface Visit extends Entry {
  readonly leftAt: bigint;
}

/**
 * CLOCK_MONOTONIC is the same clock for all processes of a machine, so their times can be compared.
 * `performance.timeOrigin` differs between processes.
 */
export function now(): bigint {
  return process.hrtime.bigint();
}

export function milliseconds(from: bigint, to: bigint): number {
  return Number(to - from) / 1e6;
}

/**
 * The number that the server appended to the znode's name: its place in the order of creation. NaN if there is none.
 */
export function sequenceOf(path: string): number {
  return Number(/-(\d{10})$/.exec(path)?.[1] ?? NaN);
}

export function nameOf({ worker, job }: { readonly worker: number; readonly job: number }): string {
  return `worker ${worker} job ${job}`;
}
