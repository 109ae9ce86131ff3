import type { Session } from '../zookeeper/session.js';
import { isRightBehind, type Created } from './right-behind.js';

/** The newest znode of this process by session and parent. */
export class Newest<Node extends Znode> {
  readonly #ofSessions = new WeakMap<Session, Map<string, Created & { readonly node: Node }>>();

  /**
   * The znode that `node`, whose create was answered as one of `writes`, stands right behind; undefined if another znode may be between them.
   */
  rightBefore(node: Node, root: string, writes: number): Node | undefined {
    const { session, sequence, czxid } = node;
    const newest = this.#ofSessions.get(session) ?? new Map<string, Created & { readonly node: Node }>();
    this.#ofSessions.set(session, newest);
    const before = newest.get(root);
    if (before && before.czxid > czxid) return undefined;
    // Behind all others, so that the one that was used longest ago is the first to be forgotten.
    newest.delete(root);
    if (sequence === undefined) return undefined;
    newest.set(root, { sequence, czxid, writes, node });
    if (newest.size > mostPaths) forgetOldest(newest);
    return before && isRightBehind({ sequence, czxid, writes }, before) ? before.node : undefined;
  }

  /** A znode was created there in another way: it has no number of its own, or its answer was lost. */
  forget(session: Session, root: string): void {
    this.#ofSessions.get(session)?.delete(root);
  }
}

interface Znode {
  readonly session: Session;
  readonly sequence: number | undefined;
  readonly czxid: bigint;
}

/** Of the locks that were used last: a client may see more paths than it has memory for. */
const mostPaths = 1_000;

function forgetOldest(newest: Map<string, unknown>): void {
  const [oldest] = newest.keys();
  if (oldest !== undefined) newest.delete(oldest);
}
