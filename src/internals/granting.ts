import { isZooKeeperError } from '../zookeeper/wire/zookeeper-error.js';
import { reached } from '../support/reached.js';
import { Grant } from './grant.js';
import type { WakeReason } from './znode/lock-node.js';
import type { Attempt, Outcome, Waiting } from './waiting.js';

/**
 * Returns the grant if the wake reason alone proves that the znode is first, and no request is needed. Most waiters
 * get the lock this way, without a list. Returns undefined otherwise.
 */
export function grantWithoutList(attempt: Attempt, waiting: Waiting, reason: WakeReason): Outcome | undefined {
  return isFirst(attempt, waiting, reason) ? grantNow(attempt) : undefined;
}

/** Returns the grant of a znode that is first, unless its session needs a proof or has ended, or its caller has. */
export function grantNow(attempt: Attempt, fencingToken?: bigint): Outcome | undefined {
  const { node, deadline } = attempt;
  if (node.session.needsProof() || deadline.isExpired || !node.session.isAlive()) return undefined;
  return node.mayBeGranted ? granted(attempt, fencingToken) : undefined;
}

/** Grants the lock to a znode that is first, as soon as its session has proven that it is alive. */
export async function grant(attempt: Attempt, fencingToken?: bigint): Promise<Outcome> {
  const { node, deadline } = attempt;
  const { session } = node;
  deadline.progress = 'first';
  // A hold that is about to expire would be lost as soon as it is granted. So the session first proves that it is
  // alive. The znode may be deleted meanwhile, and the lock granted to another client. The proof is a transaction that
  // checks the znode, and the watch reports a deletion between two proofs.
  if (session.needsProof()) node.watch.plant();
  while (!session.isEnded && session.needsProof()) {
    if (!deadline.mayWait && !session.isConnected) return { is: 'taken' };
    const { epoch } = session;
    if (await session.whenConnected(deadline)) await session.prove(node).catch(unlessUnknown);
    // A proof that was lost with its connection is repeated at once on the next one.
    if (session.needsProof() && session.epoch === epoch) await deadline.sleep(session.proofPauseMs);
  }
  deadline.check();
  if (!session.isAlive()) {
    reached('first, but the session ended before its proof');
    return { is: 'over' };
  }
  return node.mayBeGranted ? granted(attempt, fencingToken) : { is: 'absent' };
}

function granted(attempt: Attempt, fencingToken?: bigint): Outcome {
  const { node, deadline, grantOf } = attempt;
  attempt.predecessors?.close();
  deadline.progress = 'first';
  return { is: 'granted', grant: grantOf ? grantOf(node) : new Grant(node, { fencingToken }) };
}

/**
 * The wake reason alone, without a list, proves that the waiter is first in two cases, because no znode can have been
 * inserted before the waiter. In the first case every znode that one list showed before the waiter is gone. In the
 * second case the predecessor was a holder in this process: it was first when it was granted, whenever the list was
 * read.
 *
 * In both cases the waiter's own znode must still exist. The hand-over checks that. Without a hand-over, a watch on the
 * znode must have been planted on this connection, because after a reconnect the server replays the events in no order.
 */
export function isFirst({ node }: Attempt, { isAdjacent, position }: Waiting, reason: WakeReason): boolean {
  if (!isAdjacent || reason === 'recheck') return false;
  if (reason === 'handed-over') return true;
  if (!node.isDeletionWatched) return false;
  return reason === 'holder-deleted' || ((reason === 'all-deleted' || position === 1) && node.session.isConnected);
}

/** A lost proof is made again on the next connection. A server that does not know the request will never prove anything. */
function unlessUnknown(error: unknown): void {
  if (isZooKeeperError(error, 'UNIMPLEMENTED')) throw error;
}
