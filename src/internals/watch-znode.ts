import { getChildren, getData, type WatchKind } from '../zookeeper/operations.js';
import type { Session } from '../zookeeper/session.js';
import { isZooKeeperError, ZooKeeperError } from '../zookeeper/zookeeper-error.js';

/** Waits until a znode is not as it was `known` any more; returns what takes the watch back. */
export function watchZnode(session: Session, path: string, known: KnownZnode, listener: ChangeListener): () => void {
  const [kind, isAsKnown] = questionOf(session, path, known);
  const fired = (): void => listener.changed();
  session.watch(path, fired, kind);
  isAsKnown().then(
    (isSame) => {
      if (!isSame) listener.changed();
    },
    (error: unknown) => {
      // What is not there is not watched either.
      if (isZooKeeperError(error, 'NO_NODE')) session.unwatch(path, fired, { forget: false }, kind);
      else if (!(error instanceof ZooKeeperError && error.isRetryable)) {
        listener.failed(error);
        return;
      }
      // The next connection watches again, but tells nothing of what happened between the look that is known and the last answer here.
      listener.changed();
    },
  );
  return () => session.unwatch(path, fired, { forget: true }, kind);
}

/** What is known of it: which transaction has written its data the last time, or which children it has. */
export type KnownZnode = { readonly mzxid: bigint } | { readonly children: readonly string[] };

export interface ChangeListener {
  /** It is another than what was known, or may be. Called once. */
  changed(): void;
  /** The server refused to watch. */
  failed(error: unknown): void;
}

/** Which watch is planted, and the request that plants it. */
function questionOf(session: Session, path: string, known: KnownZnode): [WatchKind, () => Promise<boolean>] {
  if ('mzxid' in known) return ['data', async () => (await session.request(getData(path, true))).value.stat.mzxid === known.mzxid];
  return ['children', async () => isSameSet((await session.request(getChildren(path, true))).value, known.children)];
}

function isSameSet(names: readonly string[], known: readonly string[]): boolean {
  if (names.length !== known.length) return false;
  const all = new Set(known);
  return names.every((name) => all.has(name));
}
