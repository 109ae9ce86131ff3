import type { Leadership } from './leadership.ts';
import type { Member } from './member.ts';
import type { MemberConnection } from './member-connection.ts';
import type { Proposal } from '../../packages/testing/src/tree/proposal.ts';

/** A request that its member forwards to the leader. Its client waits for the answer in the connection's queue. */
export interface Request {
  readonly is: 'open' | 'close' | 'change' | 'sync';
  readonly connection: MemberConnection;
  readonly xid: number;
  readonly opcode: number;
  readonly body: Buffer;
}

/** One place in the log. All members that have an entry share the object. */
export interface Entry {
  readonly index: number;
  readonly proposal: Proposal;
  /** Undefined: the servers themselves asked for it. */
  readonly request: Request | undefined;
}

/** A follower and its leader, from the join until either of them ends it. */
export interface Link {
  readonly leadership: Leadership;
  readonly follower: Member;
  /** The leader's tick up to which the follower counts as synced. */
  syncedUntilTick: number;
}

export type FromLeader =
  | { readonly is: 'ping' }
  | { readonly is: 'proposal'; readonly entry: Entry }
  /** The entries up to this index are committed. */
  | { readonly is: 'commit'; readonly index: number }
  | { readonly is: 'synced'; readonly request: Request }
  | { readonly is: 'validated'; readonly sessionId: bigint; readonly isValid: boolean }
  | { readonly is: 'end' };

export type FromFollower =
  /** The answer to a ping: the sessions that the follower has heard from since the last one, with their timeouts. */
  | { readonly is: 'pong'; readonly touched: ReadonlyMap<bigint, number> }
  | { readonly is: 'ack'; readonly entry: Entry }
  | { readonly is: 'submit'; readonly request: Request }
  | { readonly is: 'validate'; readonly sessionId: bigint; readonly timeoutMs: number }
  | { readonly is: 'end' };

/** A message with its link: a member ignores the messages of a link that has ended. */
export type ToPeer =
  | { readonly link: Link; readonly to: 'follower'; readonly message: FromLeader }
  | { readonly link: Link; readonly to: 'leader'; readonly message: FromFollower };
