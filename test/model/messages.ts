import type { LeaderModel } from './leader-model.ts';
import type { ServerModel } from './server-model.ts';

export type Kind = 'read' | 'sync' | 'write';

/** One request of the client on one of its connections, as its server queues it. */
export interface Request {
  readonly connection: number;
  readonly kind: Kind;
  isDone: boolean;
}

/** A transaction: a client's write, or the end of the session, which has no request. */
export interface Proposal {
  readonly index: number;
  readonly request: Request | undefined;
  /** One bit per server. */
  acks: number;
}

/** A follower and its leader, from the join until either of them ends it. */
export interface Link {
  readonly leader: LeaderModel;
  readonly follower: ServerModel;
  /** The leader's tick up to which the follower counts as synced. */
  syncedUntilTick: number;
}

export type FromLeader =
  | { readonly is: 'ping' }
  | { readonly is: 'proposal'; readonly proposal: Proposal }
  | { readonly is: 'commit'; readonly proposal: Proposal }
  | { readonly is: 'synced'; readonly request: Request }
  | { readonly is: 'validated'; readonly connection: number; readonly isValid: boolean }
  | { readonly is: 'end' };

export type FromFollower =
  /** The answer to a ping. `touchedMs`: the session's entry in the touch table; 0: none. */
  | { readonly is: 'pong'; readonly touchedMs: number }
  | { readonly is: 'ack'; readonly proposal: Proposal }
  | { readonly is: 'submit'; readonly request: Request }
  | { readonly is: 'validate'; readonly connection: number; readonly timeoutMs: number }
  | { readonly is: 'end' };

export type FromClient =
  | { readonly is: 'connect'; readonly connection: number }
  | { readonly is: 'request'; readonly request: Request }
  | { readonly is: 'end'; readonly connection: number };

export type ToClient =
  | { readonly is: 'connected'; readonly connection: number; readonly timeoutMs: number }
  | { readonly is: 'answer'; readonly connection: number }
  | { readonly is: 'expired'; readonly connection: number }
  | { readonly is: 'end'; readonly connection: number };

/** The moments after which a fault may strike. */
export type Moment =
  'ponged' | 'submitted' | 'acknowledged' | 'committed' | 'sent' | 'answered-write' | 'answered-sync' | 'connected';
