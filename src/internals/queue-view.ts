import type { Session } from '../zookeeper/session/session.js';
import type { NodeKind } from './znode/lock-node.js';

/**
 * One kind of lock: the names of its znodes, and the way to read its queue from the servers. The engine calls these
 * members, and never asks for the kind.
 */
export interface QueueKind extends NodeKind {
  /**
   * True if a new znode never stands before an existing one. Only then can the deletion of a predecessor replace a
   * list.
   */
  readonly appendOnly: boolean;
  /**
   * True if the first znode holds the lock, and each other znode waits for the one right before it. Only then can a
   * place behind a known znode replace a list.
   */
  readonly isFirstComeFirstServed: boolean;
  /**
   * Reads the queue, once for all callers in the same tick. If the lock's own znode does not exist, the queue is empty.
   * Rejects with a ZooKeeperError.
   */
  read(session: Session): Promise<QueueView>;
  /** Decodes the name of a participant. */
  describe(name: string): ParticipantName;
}

/** The information in the name of a participant. */
export interface ParticipantName {
  /** The place in the order in which the server created the znodes. */
  readonly sequence: number;
  /** The weight, in a lock with weights. */
  readonly weight?: number;
}

/** A lock's queue as one answer of the servers showed it. */
export interface QueueView {
  /** The server's newest transaction when it answered. */
  readonly zxid: bigint;
  /** The name of the only child; undefined if there are more children, or none. */
  readonly only: string | undefined;
  /** The names of the participants in the order in which they are served, the holder first. */
  readonly order: readonly string[];
  /**
   * The first of the names that hold the lock.
   *
   * @throws LockError if no znode of this kind holds the lock, but a foreign one may
   */
  readonly holder: string | undefined;
  /**
   * True if a znode that is created next would hold the lock.
   *
   * @throws LockError as `standingOf`
   */
  readonly isFree: boolean;
  /**
   * The standing of the child with this name.
   *
   * @throws LockError if this kind cannot tell the order
   */
  standingOf(name: string): Standing;
  /** The number of participants that are served before the child with this name, if its standing does not say it. */
  positionOf?(name: string): number;
  /** The view after this child is gone. */
  without(name: string): QueueView;
}

/** The standing of a znode in its queue. */
export type Standing =
  | { readonly is: 'absent' }
  /** Without a token here, the fencing token is the znode's czxid. */
  | { readonly is: 'holder'; readonly fencingToken?: bigint }
  /** The lock has no holder, and this znode may take it by a transaction. */
  | { readonly is: 'next'; claim(session: Session, path: string): Promise<Claimed> }
  | Queued;

/** A znode that must wait. */
export interface Queued {
  readonly is: 'waiting';
  /** The number of znodes before it; 1 is next. Undefined if only `positionOf` knows it, which costs more. */
  readonly position: number | undefined;
  /** Where the position is not known: a number of this waiter, from 1, that few others of the queue have. */
  readonly rank?: number | undefined;
  /** The name of the child that the znode waits for. */
  readonly watch: string;
  /** True if the znode may be granted as soon as that child is gone. */
  readonly isNext: boolean;
  /** True if that child stands right before the znode. */
  readonly isAdjacent: boolean;
  /** The name of the child right before the watched one. Undefined if there is none, or if look-ahead is impossible. */
  readonly before?: string | undefined;
  /** The zxid of the last write to the lock's own znode, if the next write there may let the waiter be granted too. */
  readonly lockData?: bigint | undefined;
  /** All children in order, if the deletion of any of them may let the waiter be granted. */
  readonly children?: readonly string[] | undefined;
}

/**
 * The outcome of a claim. `late`: another znode took the lock. `absent`: the claiming znode does not exist. `unknown`:
 * the answer was lost.
 */
export type Claimed =
  | { readonly is: 'holder'; readonly fencingToken: bigint }
  | { readonly is: 'late' }
  | { readonly is: 'absent' }
  | { readonly is: 'unknown' };
