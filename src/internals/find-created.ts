import { checkServers, exists, getChildren, type Stat } from '../zookeeper/operations.js';
import { join } from '../zookeeper/path.js';
import type { Session } from '../zookeeper/session.js';
import { findProtected } from '../driver/names.js';

/**
 * Finds the znode under `parent` whose name carries `uuid`, after the answer to its create was lost. Only a list that
 * is read behind an answered quorum write proves that the znode does not exist, because a session that moved to another
 * server may be shown an older tree.
 */
export async function findCreated(session: Session, parent: string, uuid: string): Promise<Found> {
  const written = session.request(checkServers());
  const listed = session.find(getChildren(parent));
  listed.catch(ignore);
  const { wasPostponed } = await written;
  const names = (wasPostponed ? await session.find(getChildren(parent)) : await listed) ?? [];
  const name = findProtected(names, uuid);
  if (name === undefined) return { names, created: undefined };
  const path = join(parent, name);
  const stat = await session.find(exists(path));
  return { names, created: stat && { path, stat } };
}

interface Found {
  /** The names of all children. */
  readonly names: readonly string[];
  readonly created: { readonly path: string; readonly stat: Stat } | undefined;
}

function ignore(): void {
  // The promise is awaited below, and fails there.
}
