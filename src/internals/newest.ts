/** The newest znode of one session by parent: the next one may stand right behind it. */
export class Newest<Node extends Znode> {
  readonly #byPath = new Map<string, Known<Node>>();

  /**
   * The znode that `node`, which the server has just created, stands right behind; undefined if another znode may be
   * between them.
   *
   * @param writes how many writes of the session had been answered when the server answered this create
   */
  rightBefore(node: Node, path: string, writes: number): Node | undefined {
    const { session, sequence, czxid } = node;
    const before = this.#byPath.get(path);
    if (before && before.czxid > czxid) return undefined;
    // Deleted first, so that the map's order is the order of use, and its first entry is the one to forget.
    this.#byPath.delete(path);
    if (sequence === undefined) return undefined;
    const { epoch } = session;
    this.#byPath.set(path, { sequence, czxid, writes, epoch, node });
    if (this.#byPath.size > mostPaths) forgetOldest(this.#byPath);
    // Servers that come back from a backup go on with numbers that they have given before: what another connection has
    // shown says nothing about this one.
    return before?.epoch === epoch && isRightBehind({ sequence, czxid, writes }, before) ? before.node : undefined;
  }

  /** A znode was created there in another way: it has no number of its own, or its answer was lost. */
  forget(path: string): void {
    this.#byPath.delete(path);
  }
}

/**
 * Whether `after` was created right behind `before`, the znode that the same session had created before it in the same
 * folder. Then a waiter with the znode `after` waits
 * for `before` alone, and needs no list.
 *
 * The server numbers the children of a folder, so nothing was created between two successive numbers. The exception is
 * a folder that was deleted between them, as the
 * servers do with empty containers, and created anew: its numbers start at zero again. But then other sessions have
 * deleted it, and have created as many children as
 * `after.sequence` says, each in a transaction of its own, as every lock client does. If they had no more transactions
 * than that in all, it is the same folder. A new leader's epoch
 * is in the upper half of a zxid, and makes the distance too large.
 *
 * @example
 * isRightBehind({ sequence: 8, czxid: 0x100000109n, writes: 4 }, { sequence: 7, czxid: 0x100000102n, writes: 2 }); //
 * true: 5 are of other sessions
 */
export function isRightBehind(after: Created, before: Created): boolean {
  const othersTransactions = after.czxid - before.czxid - BigInt(after.writes - before.writes);
  return after.sequence === before.sequence + 1 && othersTransactions <= BigInt(after.sequence);
}

/**
 * What a server has said of a znode that it created: its place in the order of its siblings, and in that of everything.
 */
export interface Created {
  readonly sequence: number;
  readonly czxid: bigint;
  /**
   * How many writes of its session had been answered by then, its own create included: each of them was a transaction.
   */
  readonly writes: number;
}

/** `epoch`: the connection on which the server answered its create. */
type Known<Node> = Created & { readonly epoch: number; readonly node: Node };

interface Znode {
  readonly session: { readonly epoch: number };
  readonly sequence: number | undefined;
  readonly czxid: bigint;
}

/** For the locks that were used last: a client may use more paths than it has memory for. */
const mostPaths = 1_000;

function forgetOldest(newest: Map<string, unknown>): void {
  const [oldest] = newest.keys();
  if (oldest !== undefined) newest.delete(oldest);
}
