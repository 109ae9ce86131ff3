import type { Hold } from '../src/index.ts';
import type { Owner } from './owner.ts';

/** The grant of one acquire. */
export interface Claim {
  readonly owner: Owner;
  readonly hold: Hold;
  readonly path: string;
  readonly sessionId: bigint;
  readonly at: number;
  /** When its acquire was called. */
  readonly calledAt: number;
  /** The same time by the clock of its process. */
  readonly processAt: number;
  isReleased: boolean;
  /** True when its signal has aborted. */
  isTold: boolean;
  /** True when a third party has deleted its znode, or ended its session. */
  isTaken: boolean;
}

export function sequenceOf(name: string): number {
  return Number(name.slice(-10));
}

/** The names of a queue, the oldest znode first. */
export function inQueueOrder(names: readonly string[]): string[] {
  return names.toSorted((a, b) => sequenceOf(a) - sequenceOf(b));
}

export function nameOf({ owner: { id }, path }: Claim): string {
  return `${id} (${path.slice(path.lastIndexOf('/') + 1)})`;
}
