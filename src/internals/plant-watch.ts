import { getData } from '../client/operations.js';
import type { Session } from '../client/session.js';
import { isZooKeeperError } from '../client/zookeeper-error.js';

/**
 * Asks the server to tell of a znode's next change or deletion. With getData: on a znode that is not there it leaves no watch behind, as exists
 * would. Exists would need no permission to read, either, and must not stand in for it: servers tell events only to those who may
 * read the znode (CVE-2024-23944), so the wait would never end.
 *
 * @returns `gone` when it is not there
 */
export async function plantWatch(session: Session, path: string): Promise<'planted' | 'gone'> {
  try {
    await session.request(getData(path, true));
    return 'planted';
  } catch (error) {
    if (isZooKeeperError(error, 'NO_NODE')) return 'gone';
    throw error;
  }
}
