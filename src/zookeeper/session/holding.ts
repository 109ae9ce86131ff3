/** A znode by which a lock is held. The hold ends with the session, or with the znode. */
export interface Holding {
  readonly path: string;
  /** The time of the grant, by the wall clock of this process. */
  readonly heldSince: number;
  /** True for a hold that the application does not have: the turn and the first leases of a call that still waits. */
  readonly isInner: boolean;
  /** True while a job or a lock context has this hold: it will be released. */
  readonly isOfLiveJob: boolean;
  /** Marks the hold as lost. Calls no listener. */
  markLost(reason: SessionLoss): void;
  tellLost(): void;
  /** The servers have no such znode. The waiters of this process behind it move up. */
  foundMissing(): void;
}

/**
 * The ways in which a session ends a hold: at the deadline, on the servers' answer, by the deletion of its znode, or by
 * `close()`.
 */
export type SessionLoss = 'session-expired' | 'session-deadline' | 'node-deleted' | 'client-closed';

/** All holds are marked as lost before the first listener is called, because a listener may look at any of them. */
export function loseAll(holdings: readonly Holding[], reason: SessionLoss): void {
  for (const holding of holdings) holding.markLost(reason);
  for (const holding of holdings) holding.tellLost();
}
