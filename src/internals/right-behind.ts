/** What a server has said of a znode that it created: its place in the order of its siblings, and in that of everything. */
export interface Created {
  readonly sequence: number;
  readonly czxid: bigint;
  /** How many writes of its session had been answered by then, its own create included: each of them was a transaction. */
  readonly writes: number;
}

/**
 * Whether `after` was created right behind `before`, the last one that the same session had created there: in the same parent, and no sibling of any
 * kind between them. Then whoever waits behind the first of them stands behind nobody else, and needs no list.
 *
 * The server gives each child the next number, so between two numbers in a row nothing was created; unless the parent was removed in between,
 * as the servers do with empty containers, and created anew, where the numbers begin at zero again. But then others have removed it, and have created
 * as many children as `after.sequence` says, each in a transaction of its own: if they had no more transactions than that in all, it is the
 * same parent. A new leader's epoch is in the upper half of a zxid, and makes the distance too large.
 *
 * @example
 * isRightBehind({ sequence: 8, czxid: 0x100000109n, writes: 4 }, { sequence: 7, czxid: 0x100000102n, writes: 2 }); // true: 5 are others'
 */
export function isRightBehind(after: Created, before: Created): boolean {
  const othersTransactions = after.czxid - before.czxid - BigInt(after.writes - before.writes);
  return after.sequence === before.sequence + 1 && othersTransactions <= BigInt(after.sequence);
}
