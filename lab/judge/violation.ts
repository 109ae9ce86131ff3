import type { History } from './folded-history.ts';

export interface Violation {
  /** The name of the check. */
  readonly check: string;
  readonly t: number;
  readonly text: string;
  /** The acquires that it concerns. Empty if it concerns something else. */
  readonly ids: readonly string[];
}

export type Check = (history: History) => Violation[];

/** A moment as seconds since the run began. */
export function moment({ run }: History, t: number): string {
  return seconds(t - run.t);
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(3)} s`;
}
