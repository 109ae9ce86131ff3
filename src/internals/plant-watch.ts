import { exists, getData, removeDataWatch } from '../client/operations.js';
import type { Session } from '../client/session.js';
import { isZooKeeperError } from '../client/zookeeper-error.js';

/**
 * Asks the server to tell of a znode's next change or deletion. With getData: on a znode that is not there it leaves no watch behind, as exists
 * would. Who may not read the znode (an ACL for its creator only) asks with exists all the same, which needs no permission.
 *
 * @returns `gone` when it is not there
 */
export async function plantWatch(session: Session, path: string): Promise<'planted' | 'gone'> {
  try {
    await session.request(getData(path, true));
    return 'planted';
  } catch (error) {
    if (isZooKeeperError(error, 'NO_NODE')) return 'gone';
    if (!isZooKeeperError(error, 'NO_AUTH')) throw error;
  }
  try {
    await session.request(exists(path, true));
    return 'planted';
  } catch (error) {
    if (!isZooKeeperError(error, 'NO_NODE')) throw error;
    session.request(removeDataWatch(path)).catch(() => undefined);
    return 'gone';
  }
}
