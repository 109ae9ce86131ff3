import { keepNewest } from '../../support/keep-newest.js';

/** The newest znode of one session under each parent. The next znode may stand right behind it. */
export class Newest<Node extends Znode> {
  readonly #byPath = new Map<string, Known<Node>>();

  /**
   * Returns the znode that `node` stands right behind, or undefined if another znode may be between them. The server
   * has just created `node`.
   *
   * @param writes the number of the session's writes that had been answered when the server answered this create
   */
  rightBefore(node: Node, path: string, writes: number): Node | undefined {
    const { session, sequence, czxid } = node;
    const before = this.#byPath.get(path);
    if (before && before.czxid > czxid) return undefined;
    if (sequence === undefined) {
      this.forget(path);
      return undefined;
    }
    const { epoch } = session;
    keepNewest(this.#byPath, path, { sequence, czxid, writes, epoch, node }, mostPaths);
    // Servers that were restored from a backup give out numbers that they have given before. So an answer on another
    // connection says nothing about this one.
    return before?.epoch === epoch && isRightBehind({ sequence, czxid, writes }, before) ? before.node : undefined;
  }

  /** A znode was created there in another way: it has no number of its own, or its answer was lost. */
  forget(path: string): void {
    this.#byPath.delete(path);
  }
}

/**
 * True if `after` was created right behind `before`, the znode that the same session created before it under the same
 * parent. Then a waiter with the znode `after` waits for `before` alone, and needs no list.
 *
 * The server numbers the children of a parent, so no znode was created between two successive numbers. The exception is
 * a parent that was deleted between them, as the servers do with empty containers, and created anew: its numbers start
 * at zero again. But then other sessions have deleted it, and have created as many children as `after.sequence` says,
 * each in a transaction of its own, as every lock client does. If other sessions had no more transactions than that in
 * all, it is the same parent. A new leader's epoch is in the upper half of a zxid, and makes the distance too large.
 *
 * @example
 * isRightBehind({ sequence: 8, czxid: 0x100000109n, writes: 4 }, { sequence: 7, czxid: 0x100000102n, writes: 2 });
 * // true: 5 transactions are of other sessions
 */
export function isRightBehind(after: Created, before: Created): boolean {
  const othersTransactions = after.czxid - before.czxid - BigInt(after.writes - before.writes);
  return after.sequence === before.sequence + 1 && othersTransactions <= BigInt(after.sequence);
}

/** The server's answer to a create: the znode's place among its siblings, and among all transactions. */
export interface Created {
  readonly sequence: number;
  readonly czxid: bigint;
  /**
   * The number of the session's writes that had been answered by then, without this create. Each write was a
   * transaction.
   */
  readonly writes: number;
}

/** `epoch`: the connection on which the server answered the create. */
type Known<Node> = Created & { readonly epoch: number; readonly node: Node };

interface Znode {
  readonly session: { readonly epoch: number };
  readonly sequence: number | undefined;
  readonly czxid: bigint;
}

/** A limit, because a client may use more paths than it has memory for. The paths used last are kept. */
const mostPaths = 1_000;
