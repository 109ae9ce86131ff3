/** What a server has said of a znode that it created: its place in the order of its siblings, and in that of everything. */
export interface Created {
  readonly sequence: number;
  readonly czxid: bigint;
}

/**
 * Whether `after` was created right behind `before`: in the same parent, and no sibling of any kind between them. Then whoever waits
 * behind the first of them stands behind nobody else, and needs no list.
 *
 * The server gives each child the next number, so between two numbers in a row nothing was created; unless the parent was removed in between,
 * as the servers do with empty containers, and created anew, where the numbers begin at zero again. But then as many children as `after.sequence`
 * says were created before it, each in a transaction of its own, and one more was needed for the parent: fewer transactions mean the same parent.
 * A new leader's epoch is in the upper half of a zxid, and makes the distance too large.
 *
 * @example
 * isRightBehind({ sequence: 8, czxid: 0x100000109n }, { sequence: 7, czxid: 0x100000102n }); // true
 */
export function isRightBehind(after: Created, before: Created): boolean {
  return after.sequence === before.sequence + 1 && after.czxid - before.czxid < BigInt(after.sequence) + 2n;
}
