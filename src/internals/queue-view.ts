import type { Session } from '../zookeeper/session.js';

/**
 * One kind of lock: the names of its znodes, and how its queue is read from the servers. The engine asks it, and never
 * which kind it is.
 */
export interface QueueKind {
  /** The text before the sequence number in the names of the znodes that it creates. */
  readonly lockName: string;
  /**
   * A newcomer never stands before a znode that is already there. Only then can the deletion of a predecessor stand for
   * a list.
   */
  readonly appendOnly: boolean;
  /**
   * The first holds the lock, and each other znode waits for the one right before it. Only then can a place behind a
   * known znode stand for a list.
   */
  readonly isFirstComeFirstServed: boolean;
  /**
   * The queue now, asked once for all callers of one tick. A lock's znode that is not there is an empty queue. Rejects
   * with a ZooKeeperError.
   */
  read(session: Session): Promise<QueueView>;
  /** Whether both grant by the same rule. Only then does one znode's grant say who stands before the other. */
  hasRuleOf(other: QueueKind): boolean;
  /** What the name of a participant says. */
  describe(name: string): ParticipantName;
}

/** What the name of a participant says. */
export interface ParticipantName {
  /** The place in the order in which the server created the znodes. */
  readonly sequence: number;
  /** In a lock with weights. */
  readonly weight?: number;
}

/** A lock's queue as one answer of the servers has shown it. */
export interface QueueView {
  /** The server's newest transaction when it answered. */
  readonly zxid: bigint;
  /** The name of the only child; undefined where there are more, or none. */
  readonly only: string | undefined;
  /** The names of the participants in the order in which they are served, the holder first. */
  readonly order: readonly string[];
  /**
   * The first of the names that hold the lock.
   *
   * @throws LockError where nobody holds it as far as this kind can see, and somebody may
   */
  readonly holder: string | undefined;
  /**
   * Whether a znode that is created next would hold the lock.
   *
   * @throws as `standingOf`
   */
  readonly isFree: boolean;
  /**
   * Where the child of this name stands.
   *
   * @throws LockError where this kind cannot tell who goes first
   */
  standingOf(name: string): Standing;
  /** How many participants are served before the child of this name. */
  positionOf(name: string): number;
  /** As it is once this child has gone. */
  without(name: string): QueueView;
}

/** Where a znode stands in its queue. */
export type Standing =
  | { readonly is: 'absent' }
  /** Without a token of its own, the znode's czxid is the fencing token. */
  | { readonly is: 'holder'; readonly fencingToken?: bigint }
  /** Nobody holds the lock, and this znode may take it by a transaction. */
  | { readonly is: 'next'; claim(session: Session, path: string): Promise<Claimed> }
  | Queued;

/** A znode that has to wait. */
export interface Queued {
  readonly is: 'waiting';
  /** How many znodes are before it, 1 is next; undefined where only `positionOf` says it, which costs more. */
  readonly position: number | undefined;
  /** The name of the child whose end is waited for. */
  readonly watch: string;
  /** That child stands right before it. */
  readonly isAdjacent: boolean;
  /**
   * The transaction that wrote the data of the lock's own znode last, where the next write may let the waiter in, too.
   */
  readonly lockData?: bigint;
  /** All children in order, where the end of any of them may let the waiter in. */
  readonly children?: readonly string[];
}

/**
 * The outcome of a claim. `late`: another znode took the lock. `absent`: the claiming znode is not there. `unknown`:
 * the answer was lost.
 */
export type Claimed =
  | { readonly is: 'holder'; readonly fencingToken: bigint }
  | { readonly is: 'late' }
  | { readonly is: 'absent' }
  | { readonly is: 'unknown' };
