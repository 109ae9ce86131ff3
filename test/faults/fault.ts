import type { Frame, FrameAction } from '../../lab/proxy/zk-proxy.ts';
import { sessionTimeoutMs, type CaseRun } from './case-run.ts';
import type { FrameKey } from './frame-key.ts';

/** A frame of a scenario's run without a fault, and the state of the servers when it passed. */
export interface FrameFact {
  readonly key: FrameKey;
  /** The client has a session by now. */
  readonly hasSession: boolean;
  /** A call of the client has got options by now. */
  readonly hasOptions: boolean;
  /** The places in each folder of the lock, when the frame passes. */
  readonly places: readonly PlaceFact[];
  /** The same, when the frame has arrived. */
  readonly placesAfter: readonly PlaceFact[];
}

/** Which znodes of a queue there are, around the last znode of the client under test. */
export type PlaceFact = Readonly<Record<Neighbour, boolean>>;

export type Neighbour = 'own' | 'predecessor' | 'follower';

/** A kind of fault that can happen to one frame, or around it. */
export interface Fault {
  readonly name: string;
  /** How long the fault lasts; 0 for a fault that is over at once. */
  readonly lastsMs: number;
  /** How much longer it lasts beside another fault. @default 0 */
  readonly twoMs?: number;
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

/** Longer than a server may be silent, shorter than the session lasts. */
export const shortMs = sessionTimeoutMs * 0.35;
/** Until the client gives the session up, and the server has ended it. */
export const longMs = sessionTimeoutMs * 1.25;

export function never(): undefined {
  return undefined;
}
