import type { WatchEventType } from '../zookeeper/connection.js';
import { getData, type Stat } from '../zookeeper/operations.js';
import type { Session } from '../zookeeper/session.js';
import { isZooKeeperError, ZooKeeperError } from '../zookeeper/zookeeper-error.js';

/**
 * Asks the server to tell of a znode's next change or deletion. With getData: on a znode that is not there it leaves no watch behind, as exists
 * would. Exists would need no permission to read, either, and must not stand in for it: servers tell events only to those who may
 * read the znode (CVE-2024-23944), so the wait would never end.
 *
 * @returns what it is now, or `gone` when it is not there
 */
export async function plantWatch(session: Session, path: string): Promise<{ readonly data: Buffer; readonly stat: Stat } | 'gone'> {
  try {
    return (await session.request(getData(path, true))).value;
  } catch (error) {
    if (isZooKeeperError(error, 'NO_NODE')) return 'gone';
    throw error;
  }
}

/** Who waits for what happens to a znode next. */
export interface NewsListener {
  /** What is in it now. */
  readonly found?: (data: Buffer) => void;
  /** `deleted` also when it is not there. */
  readonly told: (event: WatchEventType) => void;
  readonly failed: (error: unknown) => void;
}

/** Tells the next event of a znode, once; returns what takes the watch back. */
export function nextNews(session: Session, path: string, { found, told, failed }: NewsListener): () => void {
  session.watch(path, told);
  plantWatch(session, path).then(
    (there) => {
      if (there !== 'gone') {
        found?.(there.data);
        return;
      }
      session.unwatch(path, told, { forget: false });
      told('deleted');
    },
    (error: unknown) => {
      // After a lost connection the watch is planted anew on the next one.
      if (!(error instanceof ZooKeeperError && error.isRetryable)) failed(error);
    },
  );
  return () => session.unwatch(path, told, { forget: true });
}
