import type { Session } from './session.js';
import type { WatchListener, Watched } from './watches.js';
import { isRetryable } from './zookeeper-error.js';

/** Tells what is there, and the next event of it, once; returns what takes the watch back. */
export function watchZnode<What extends 'data' | 'children'>(
  session: Session,
  path: string,
  what: What,
  listener: ZnodeListener<Watched[What]>,
): () => void {
  const { told } = listener;
  tell(session.watch(path, what, told), listener);
  return () => session.unwatch(path, what, told, { forget: true });
}

/** What is told about a znode that is watched. */
export interface ZnodeListener<Found> {
  /** What it is now. */
  readonly found?: ((znode: Found) => void) | undefined;
  /** The next event; `deleted` also where it is not there. */
  readonly told: WatchListener;
  /**
   * The answer was lost. The next connection watches again, but tells nothing of what happened before the last answer
   * here.
   */
  readonly lost?: () => void;
  /** The server refused to watch. */
  readonly failed: (error: unknown) => void;
}

/** In a function of its own: nothing of the question stays in memory for as long as the watch does. */
function tell<Found>(answer: Promise<Found | undefined>, { found, told, lost, failed }: ZnodeListener<Found>): void {
  answer.then(
    (znode) => {
      if (znode === undefined) told('deleted');
      else found?.(znode);
    },
    (error: unknown) => {
      if (isRetryable(error)) lost?.();
      else failed(error);
    },
  );
}
