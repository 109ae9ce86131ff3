import type { LockPlan } from './plan.ts';

/** The drawn circumstances of a whole plan. */
export interface Mood {
  readonly faultShare: number;
  /** The share of the calls that give up before long. */
  readonly impatience: number;
  readonly gapMs: number;
  readonly pauseShare: number;
  readonly sessionTimeoutMs: number;
  /** The longest delay of a message, in milliseconds. */
  readonly slowest: number;
  readonly clients: number;
  readonly processes: number;
  readonly members: number;
  readonly locks: readonly LockPlan[];
  readonly favourite: number;
}
