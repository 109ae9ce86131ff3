import type { Deadline, Wait } from '../support/deadline.js';
import { watchZnode } from '../zookeeper/session/watches.js';
import type { Grant } from './grant.js';
import { rememberHolder, seenIn } from './known-holder.js';
import { nodesOf, type LockNode, type WakeReason } from './znode/lock-node.js';
import { seekPhantoms, seekPhantomsFar } from './phantoms.js';
import { Predecessors, type WaiterToWake, type ZnodesBefore } from './predecessors.js';
import type { Queued } from './queue-view.js';
import { reached } from '../support/reached.js';

/** One znode on its way through the queue, in one session. It is small, because ten thousand znodes may wait. */
export interface Attempt {
  readonly node: LockNode;
  readonly deadline: Deadline;
  /** Makes the grant of the znode. Undefined for Curator's way. */
  readonly grantOf: ((node: LockNode) => Grant) | undefined;
  /** Undefined until the znode waits for one of another process. */
  predecessors: Predecessors | undefined;
}

/** A znode that must wait, and the znodes that it waits for. */
export interface Waiting extends ZnodesBefore, Pick<Queued, 'isNext' | 'rank' | 'lockData' | 'children'> {
  readonly is: 'waiting';
  /** True if the znode stands right behind its predecessor, and no znode can be inserted between them. */
  readonly isAdjacent: boolean;
}

/** The outcome of one attempt. */
export type Outcome =
  | { readonly is: 'granted'; readonly grant: Grant }
  /** Another znode is before this one, and the attempt may not wait. */
  | { readonly is: 'taken' }
  /** The znode is not in the queue. The retry policy decides. */
  | { readonly is: 'absent' }
  /** The session ended, or the create was never executed. Starting over loses nothing. */
  | { readonly is: 'over' };

export type Step = Outcome | Waiting;

/**
 * Resolves when the predecessor is gone, or when the waiter must look at the queue again because its own znode, its
 * session or the lock's own znode has changed. Rejects as soon as the deadline expires.
 */
export function untilChange(attempt: Attempt, waiting: Waiting): Promise<WakeReason> {
  const { predecessor, before, isAdjacent, isNext, position, lockData } = waiting;
  const { node } = attempt;
  const local = nodesOf(node.session).get(predecessor);
  node.hasWaited = local === undefined;
  // A waiter that needs another list before its grant learns from that list whether its znode still exists. Its watch
  // can wait.
  const needsList = local !== undefined || (position !== undefined && position > (before === undefined ? 1 : 2));
  if (lockData === undefined && needsList) node.watch.plantForWaiter();
  else node.watch.plant();
  if (local) attempt.predecessors?.close();
  return attempt.deadline.waitAs<WakeReason>((waiter) => {
    node.wait(waiter);
    if (local && isAdjacent && local.isOfOneKindWith(node)) {
      node.follow(local);
      return node;
    }
    if (local)
      return waitBy(
        node,
        local.onGone(() =>
          waiter.wake(local.wasGranted && local.isOfOneKindWith(node) ? 'holder-deleted' : 'predecessor-deleted'),
        ),
        watchLockData(node, lockData, waiter),
      );
    const seekFar = isNext ? undefined : seekFarPhantoms(node, waiting, waiter);
    if (isAdjacent) return waitBy(node, lookAhead(attempt, waiting, waiter), watchOwnAfterReconnect(attempt), seekFar);
    const stop = watchZnode(node.session, predecessor, 'data', {
      found: position === 1 ? (znode) => rememberHolder(node.session, seenIn(predecessor, znode)) : undefined,
      told: (event) => waiter.wake(event === 'deleted' ? 'predecessor-deleted' : 'recheck'),
      failed: (error) => waiter.fail(error),
    });
    return waitBy(
      node,
      stop,
      isNext ? node.session.keepProven(node) : undefined,
      isNext ? seekPhantoms(node.session, node.host, [predecessor], () => waiter.wake('recheck')) : seekFar,
      watchLockData(node, lockData, waiter),
    );
  });
}

function waitBy(node: LockNode, ...stops: readonly ((() => void) | undefined)[]): Wait {
  return {
    waitNoMore: () => {
      for (const stop of stops) stop?.();
      node.waitNoMore();
    },
  };
}

/** Watches the predecessor, which belongs to another process, and the znode before it. */
function lookAhead(attempt: Attempt, before: ZnodesBefore, waiter: WaiterToWake): () => void {
  attempt.predecessors ??= new Predecessors(attempt.node);
  return attempt.predecessors.wait(before, waiter);
}

/**
 * A waiter that may be granted without a list reads its own znode again after each reconnect. The servers report the
 * deletions from before a reconnect in no order.
 */
function watchOwnAfterReconnect(attempt: Attempt): () => void {
  const { session, watch } = attempt.node;
  return session.onChange(() => {
    if (!session.isConnected || !attempt.predecessors?.areAll) return;
    reached('a waiter that may be first reads its znode again after a reconnect');
    watch.plant();
  });
}

/** For a waiter that is not next, because all znodes before it may be phantoms. */
function seekFarPhantoms(
  { session, host }: LockNode,
  { predecessor, before, position, rank = position }: Waiting,
  waiter: WaiterToWake,
): (() => void) | undefined {
  if (rank === undefined || (position !== undefined && position < 2)) return undefined;
  const paths = before === undefined ? [predecessor] : [before, predecessor];
  return seekPhantomsFar(session, host, paths, rank, () => waiter.wake('recheck'));
}

/** Wakes the waiter when a transaction after `mzxid` has written the lock's data, or may have written it. */
function watchLockData(
  { session, lockPath }: LockNode,
  mzxid: Queued['lockData'],
  waiter: WaiterToWake,
): (() => void) | undefined {
  if (mzxid === undefined) return undefined;
  const recheck = (): void => waiter.wake('recheck');
  return watchZnode(session, lockPath, 'data', {
    found: ({ stat }) => {
      if (stat.mzxid !== mzxid) recheck();
    },
    told: recheck,
    lost: recheck,
    failed: (error) => waiter.fail(error),
  });
}
