import type { Committed as CommittedData } from '../../lab/ensemble/committed.ts';

export type Committed = Pick<CommittedData, 'children' | 'get' | 'ownerOf'>;

/** The means of a rule: it tells a violation, and it reads the data that the servers have committed. */
export interface Bench {
  /** Virtual milliseconds. */
  readonly now: () => number;
  readonly committed: () => Committed;
  readonly tell: (check: string, text: string) => void;
  /** True if the application has, had, or will soon have the lock by this znode. */
  readonly wasGranted: (path: string) => boolean;
}

/** The milliseconds for which a process that stalled runs its late timers, one after another. */
export const wakingMs = 5;
