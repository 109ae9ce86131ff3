import type { Frame } from '../../harness/zk-proxy.ts';
import type { Kind } from './kinds.ts';
import type { CaseRun } from './case-run.ts';

export interface Scenario {
  readonly name: string;
  /** How many frames it has at the least: fewer are a scenario that does not play what it says. */
  readonly frames: number;
  /** How many of the session's own heartbeats are among them. @default 0 */
  readonly heartbeats?: number;
  /** Where the server is there and willing, it takes much less than a session timeout: nothing is left to expire. */
  readonly isPrompt?: true;
  /** @default a mutex */
  readonly kind?: Kind;
  /** Frames that come or do not, by the clock: no fault happens to them. */
  readonly isByClock?: (frame: Frame) => boolean;
  /** The lock's path behind the test's own root. */
  readonly depth?: string;
  /** What has to be there first; returns what the faults happen to. */
  begin(run: CaseRun): Promise<() => Promise<void>>;
}
