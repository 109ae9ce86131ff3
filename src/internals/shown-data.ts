import type { LockHost } from '../client/lock-host.js';
import type { Stat } from '../zookeeper/operations.js';
import type { Session } from '../zookeeper/session.js';
import { nodesOf } from './lock-node.js';
import { markIn } from './mark.js';
import { RecentData } from './recent-data.js';

/**
 * The data that a participant wrote into its znode. If another client has overwritten it with a mark: the data that
 * this client wrote or read before. If this client never did: the mark.
 */
export function shownData(host: LockHost, session: Session, znode: ReadZnode): Buffer {
  const { path, data, stat } = znode;
  if (!isMarked(znode)) {
    host.companions.of(RecentData).remember(path, stat.czxid, data);
    return data;
  }
  const own = nodesOf(session).get(path)?.data;
  return own ? Buffer.from(own) : (host.companions.of(RecentData).recall(path, stat.czxid) ?? data);
}

/** A participant's znode, as a server has just answered. */
export interface ReadZnode {
  readonly path: string;
  readonly data: Buffer;
  readonly stat: Stat;
}

/** Data that the znode was created with belongs to its owner, even if it looks like a mark. */
function isMarked({ data, stat }: ReadZnode): boolean {
  return stat.mzxid > stat.czxid && markIn(data) !== undefined;
}
