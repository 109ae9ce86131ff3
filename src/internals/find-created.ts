import { check, exists, getChildren, type Stat } from '../zookeeper/operations.js';
import { join } from '../zookeeper/path.js';
import type { Session } from '../zookeeper/session.js';
import { whenNoNode } from '../zookeeper/zookeeper-error.js';
import { findProtected } from '../driver/names.js';

/**
 * The znode under `root` that carries `uuid`, after the answer to its create was lost. Only a list behind an answered quorum write can say that there is
 * none; a session that moved to another server may be shown an older tree.
 */
export async function findCreated(session: Session, root: string, uuid: string): Promise<{ readonly path: string; readonly stat: Stat } | undefined> {
  const written = session.request(check(['/']));
  const listed = session.request(getChildren(root));
  listed.catch(ignore);
  await written;
  const name = findProtected(await listed.then(({ value }) => value, whenNoNode<string[]>([])), uuid);
  if (name === undefined) return undefined;
  const path = join(root, name);
  const stat = await session.request(exists(path)).then(({ value }) => value, whenNoNode(undefined));
  return stat && { path, stat };
}

function ignore(): void {
  // Awaited further down.
}
