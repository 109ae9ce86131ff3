import { getChildren } from '../zookeeper/operations.js';
import type { Session } from '../zookeeper/session.js';
import { isZooKeeperError, ZooKeeperError } from '../zookeeper/zookeeper-error.js';

/** Waits for a znode to have other children than `known`; returns what takes the watch back. */
export function watchChildren(session: Session, path: string, known: readonly string[], listener: ChildrenListener): () => void {
  const fired = (): void => listener.changed();
  session.watch(path, fired, 'children');
  session.request(getChildren(path, true)).then(
    ({ value }) => {
      if (!isSameSet(value, known)) listener.changed();
    },
    (error: unknown) => {
      if (isZooKeeperError(error, 'NO_NODE')) session.unwatch(path, fired, { forget: false }, 'children');
      else if (!(error instanceof ZooKeeperError && error.isRetryable)) listener.failed(error);
      // The next connection watches again, but tells nothing of what happened between the list that is known and the last answer here.
      listener.changed();
    },
  );
  return () => session.unwatch(path, fired, { forget: true }, 'children');
}

export interface ChildrenListener {
  /** They are others than those that were known, or may be. Called once. */
  changed(): void;
  /** The server refused to watch. */
  failed(error: unknown): void;
}

function isSameSet(names: readonly string[], known: readonly string[]): boolean {
  if (names.length !== known.length) return false;
  const all = new Set(known);
  return names.every((name) => all.has(name));
}
