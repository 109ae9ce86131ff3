import { callApplication, inNoContext } from './no-context.js';

/**
 * What an AbortSignal aborted with. A polyfill's may give no reason: then it is what Node's own would be.
 *
 * Signals come from outside, and are asked for `aborted` and `addEventListener` alone: polyfills have no
 * `throwIfAborted`, and some no `reason`.
 */
export function abortReason(signal: AbortSignal): unknown {
  try {
    return (signal.reason as unknown) ?? new DOMException('This operation was aborted', 'AbortError');
  } catch (error) {
    return error;
  }
}

/** @throws the reason of a signal that has aborted */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortReason(signal);
}

/**
 * Calls `heard` with the reason when a signal aborts; in this very call if it has, or with the error if it cannot be
 * listened to. Never throws. Returns what
 * takes the listener back, and says whether it could.
 */
export function listenForAbort(signal: AbortSignal, heard: (reason: unknown) => void): () => boolean {
  let isOver = false;
  const tell = (reason: unknown): void => {
    if (isOver) return;
    isOver = true;
    heard(reason);
  };
  // The application may abort it in another job's context, which has nothing to do with what is given up here.
  const listener = (): void => inNoContext(tell, abortReason(signal));
  try {
    callApplication(() => signal.addEventListener('abort', listener, { once: true }));
    // It may have aborted since it was looked at last, and tells nobody of that any more.
    if (signal.aborted) listener();
  } catch (error) {
    tell(error);
  }
  return () => {
    try {
      callApplication(() => signal.removeEventListener('abort', listener));
      return true;
    } catch {
      // It has no such method, for one.
      return false;
    }
  };
}
