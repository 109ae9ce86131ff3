import type { Frame, FrameAction } from '../../lab/proxy/zk-proxy.ts';
import type { FrameKey } from './frame-key.ts';
import type { CaseRun } from './case-run.ts';

/** A frame of a scenario's run without a fault, and the state of the server when it passed. */
export interface FrameFact {
  readonly key: FrameKey;
  /** True once the client under test is known, so that its session can be ended. */
  readonly hasSession: boolean;
  /** The places in each folder of the lock. */
  readonly places: readonly PlaceFact[];
}

export interface PlaceFact {
  /** The client under test has a znode in the queue. */
  readonly hasOwnNode: boolean;
  /** A client, maybe the same one, has a znode right before its last znode. */
  readonly hasPredecessor: boolean;
}

/** A fault that can happen to one frame, or around it. */
export interface Fault {
  readonly name: string;
  /** How long the fault lasts; 0 for a fault that is over at once. */
  readonly lastsMs: number;
  /** The server refuses permanently, so the acquire may be refused. */
  readonly refuses?: true;
  /** The reason why the fault cannot happen to this frame. */
  excludes(fact: FrameFact): string | undefined;
  /**
   * Makes the fault happen, once for each case, when the frame comes. Work that takes longer than the frame is passed
   * to `run.heals`.
   */
  strike(frame: Frame, run: CaseRun): FrameAction;
}
