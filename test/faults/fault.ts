import type { Frame, FrameAction } from '../../harness/zk-proxy.ts';
import type { FrameKey } from './frame-key.ts';
import type { CaseRun } from './case-run.ts';

/** A frame of a scenario's dry run, and what there was on the server when it passed. */
export interface FrameFact {
  readonly key: FrameKey;
  /** The client under test is known, with a session to end. */
  readonly hasSession: boolean;
  /** In each folder of the lock. */
  readonly places: readonly PlaceFact[];
}

export interface PlaceFact {
  /** It has a znode in the queue. */
  readonly hasOwnNode: boolean;
  /** Somebody, maybe itself, has one right before its last one. */
  readonly hasPredecessor: boolean;
}

/** What can happen to one frame, or around it. */
export interface Fault {
  readonly name: string;
  /** How long the world is broken, once it struck; what is mended at once takes 0. */
  readonly lastsMs: number;
  /** A server that refuses for good: the acquire may be refused then. */
  readonly refuses?: true;
  /** Why it cannot happen to this frame. */
  excludes(fact: FrameFact): string | undefined;
  /**
   * Happens: once a case, when the frame's turn has come. Things that take longer than the frame are handed to
   * `run.heals`.
   */
  strike(frame: Frame, run: CaseRun): FrameAction;
}
