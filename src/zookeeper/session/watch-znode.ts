import type { Session } from './session.js';
import type { WatchListener, Watched } from './watches.js';
import { isRetryable } from '../wire/zookeeper-error.js';

/** Reports a znode's present content, and its next event once. Returns a function that removes the watch. */
export function watchZnode<What extends 'data' | 'children'>(
  session: Session,
  path: string,
  what: What,
  listener: ZnodeListener<Watched[What]>,
): () => void {
  const { told } = listener;
  tell(session.watches.plant(path, what, told), listener);
  return () => session.watches.remove(path, what, told, { forget: true });
}

/** The callbacks for a watched znode. */
export interface ZnodeListener<Found> {
  /** Called with the present content of the znode. */
  readonly found?: ((znode: Found) => void) | undefined;
  /** Called at the next event. `deleted` is also reported if the znode does not exist. */
  readonly told: WatchListener;
  /**
   * Called if the answer was lost. The next connection plants the watch again, but does not report changes from before
   * the last answer on this one.
   */
  readonly lost?: () => void;
  /** Called if the server refused to plant the watch. */
  readonly failed: (error: unknown) => void;
}

/** A separate function, so that nothing of the request stays in memory as long as the watch does. */
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
