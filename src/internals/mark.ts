/**
 * What somebody asks of a lock's znode by writing its data: `revoke` to let go, `force` to stop at once, because the
 * znode will be deleted.
 */
export type Mark = 'revoke' | 'force';

/** `__REVOKE__` is Curator's, and Java's holders obey it, too; `__FORCE__` is ours. */
const texts: Record<Mark, string> = { revoke: '__REVOKE__', force: '__FORCE__' };

export function dataOf(mark: Mark): Buffer {
  return Buffer.from(texts[mark]);
}

/** Exactly the mark, as in Curator: whatever else is in there is somebody's data. */
export function markIn(data: Buffer): Mark | undefined {
  if (data.equals(dataOf('revoke'))) return 'revoke';
  return data.equals(dataOf('force')) ? 'force' : undefined;
}
