import type { Session } from './session.js';
import type { WatchEventType } from '../wire/operations.js';
import type { WatchListener, Watched } from './watches.js';
import { isRetryable } from '../wire/zookeeper-error.js';

/**
 * Reports a znode's present content, and then its next event once, also if both arrive in one chunk. Returns a function
 * that removes the watch.
 */
export function watchZnode<What extends 'data' | 'children'>(
  session: Pick<Session, 'watches'>,
  path: string,
  what: What,
  listener: ZnodeListener<Watched[What]>,
): () => void {
  // The promise of the answer settles after an event that is read from the same chunk.
  let early: WatchEventType | undefined;
  let tellEvent: WatchListener = (event) => (early = event);
  const fired: WatchListener = (event) => tellEvent(event);
  const answered = (): void => {
    tellEvent = listener.told;
    if (early) listener.told(early);
  };
  tell(session.watches.plant(path, what, fired), listener, answered);
  return () => {
    early = undefined;
    session.watches.remove(path, what, fired, { forget: true });
  };
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
function tell<Found>(
  answer: Promise<Found | undefined>,
  { found, told, lost, failed }: ZnodeListener<Found>,
  answered: () => void,
): void {
  answer.then(
    (znode) => {
      if (znode === undefined) return told('deleted');
      found?.(znode);
      answered();
    },
    (error: unknown) => {
      if (isRetryable(error)) lost?.();
      else failed(error);
      answered();
    },
  );
}
