import type { Frame } from '../../lab/proxy/zk-proxy.ts';
import type { Kind } from './kinds.ts';
import type { CaseRun } from './case-run.ts';

export interface Scenario {
  readonly name: string;
  /** The least number of frames. A scenario with fewer frames does not do what its name says. */
  readonly frames: number;
  /** How many of the session's heartbeats are among the frames. @default 0 */
  readonly heartbeats?: number;
  /**
   * True if the scenario takes much less than a session timeout while the server answers, because no session has to
   * expire.
   */
  readonly isPrompt?: true;
  /** @default a mutex */
  readonly kind?: Kind;
  /** True for frames that the clock may or may not send: no fault happens to them. */
  readonly isByClock?: (frame: Frame) => boolean;
  /** The lock's path below the root of the test. */
  readonly depth?: string;
  /** Prepares the scenario; returns the part to which the faults happen. */
  begin(run: CaseRun): Promise<() => Promise<void>>;
}
