/**
 * A request to the owner of a lock's znode, written into the znode's data. `revoke` asks the owner to release. `force`
 * asks the owner to stop at once, because the znode will be deleted.
 */
export type Mark = 'revoke' | 'force';

/** `__REVOKE__` is Curator's mark, so Java holders obey it too. `__FORCE__` is this library's own mark. */
const texts: Record<Mark, string> = { revoke: '__REVOKE__', force: '__FORCE__' };

export function dataOf(mark: Mark): Buffer {
  return Buffer.from(texts[mark]);
}

/** Only the exact text is a mark, as in Curator. Any other text is a participant's data. */
export function markIn(data: Buffer): Mark | undefined {
  if (data.equals(dataOf('revoke'))) return 'revoke';
  return data.equals(dataOf('force')) ? 'force' : undefined;
}
