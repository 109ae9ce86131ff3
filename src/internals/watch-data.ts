import type { Session } from '../zookeeper/session.js';
import { ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import { plantWatch } from './plant-watch.js';

/** Waits for somebody to write a znode's data after the transaction `known`; returns what takes the watch back. */
export function watchData(session: Session, path: string, known: bigint, listener: DataListener): () => void {
  const fired = (): void => listener.changed();
  session.watch(path, fired);
  plantWatch(session, path).then(
    (there) => {
      if (there === 'gone') session.unwatch(path, fired, { forget: false });
      if (there === 'gone' || there.stat.mzxid !== known) listener.changed();
    },
    (error: unknown) => {
      if (!(error instanceof ZooKeeperError && error.isRetryable)) listener.failed(error);
      // The next connection watches again, but tells nothing of what was written between the look that is known and the last answer here.
      else listener.changed();
    },
  );
  return () => session.unwatch(path, fired, { forget: true });
}

export interface DataListener {
  /** They are others than those that were known, or may be. Called once. */
  changed(): void;
  /** The server refused to watch. */
  failed(error: unknown): void;
}
