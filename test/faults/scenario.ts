import type { CaseRun } from './case-run.ts';
import type { LockKind } from './lock-kinds.ts';

export interface Scenario {
  readonly name: string;
  /** The least number of frames. A scenario with fewer frames does not do what its name says. */
  readonly frames: number;
  /** True if the scenario takes much less than a session timeout while the server answers, because no session expires. */
  readonly isPrompt?: true;
  /** @default a mutex */
  readonly kind?: LockKind;
  /** The lock's path below the root of the case. */
  readonly depth?: string;
  /** The number of servers. @default 1 */
  readonly members?: number;
  /** The number of other clients. @default 1, the bystander */
  readonly others?: number;
  /** Prepares the scenario; returns the part to which the faults happen. */
  begin(run: CaseRun): Promise<() => Promise<void>>;
}
