import type { Session } from '../zookeeper/session.js';
import type { LockNode } from './lock-node.js';
import { isRightBehind, type Created } from './right-behind.js';

interface Newest extends Created {
  readonly node: LockNode;
}

/** Of the locks that were used last: a client may see more paths than it has memory for. */
const mostPaths = 1_000;

const ofSessions = new WeakMap<Session, Map<string, Newest>>();

/**
 * The znode of ours that `node`, whose create was answered as one of `writes`, stands right behind; undefined if there is somebody between them, or nobody can say.
 */
export function rightBefore(node: LockNode, root: string, writes: number): LockNode | undefined {
  const { session, sequence, czxid } = node;
  const newest = ofSessions.get(session) ?? new Map<string, Newest>();
  ofSessions.set(session, newest);
  const before = newest.get(root);
  if (before && before.czxid > czxid) return undefined;
  // Behind all others, so that the one that was used longest ago is the first to be forgotten.
  newest.delete(root);
  if (sequence === undefined) return undefined;
  newest.set(root, { sequence, czxid, writes, node });
  if (newest.size > mostPaths) forgetOldest(newest);
  return before && isRightBehind({ sequence, czxid, writes }, before) ? before.node : undefined;
}

/** A znode of ours was created there in another way: it has no number of its own, or nobody knows when it was answered. */
export function forgetNewest(session: Session, root: string): void {
  ofSessions.get(session)?.delete(root);
}

function forgetOldest(newest: Map<string, unknown>): void {
  const [oldest] = newest.keys();
  if (oldest !== undefined) newest.delete(oldest);
}
