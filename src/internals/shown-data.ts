import type { LockClient } from '../client/lock-client.js';
import type { Stat } from '../zookeeper/operations.js';
import type { Session } from '../zookeeper/session.js';
import { nodesOf } from './lock-node.js';
import { markIn } from './mark.js';
import { RecentData } from './recent-data.js';

/**
 * What a participant has written into its znode. Where somebody has written a mark over it, what this client wrote
 * there itself or read before; the mark where it
 * never did.
 */
export function shownData(client: LockClient, session: Session, znode: ReadZnode): Buffer {
  const { path, data, stat } = znode;
  if (!isMarked(znode)) {
    client.companions.of(RecentData).remember(path, stat.czxid, data);
    return data;
  }
  const own = nodesOf(session).get(path)?.data;
  return own ? Buffer.from(own) : (client.companions.of(RecentData).recall(path, stat.czxid) ?? data);
}

/** A participant's znode as a server has just answered it. */
export interface ReadZnode {
  readonly path: string;
  readonly data: Buffer;
  readonly stat: Stat;
}

/** What it was created with is its owner's, whatever it says. */
function isMarked({ data, stat }: ReadZnode): boolean {
  return stat.mzxid > stat.czxid && markIn(data) !== undefined;
}
