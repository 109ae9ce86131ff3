import { callApplication, inNoContext } from './no-context.js';

/**
 * The reason with which an AbortSignal aborted. A polyfill may give no reason; then the result is the reason that Node
 * would give.
 *
 * Signals come from outside, so the library uses only `aborted` and `addEventListener`: polyfills have no
 * `throwIfAborted`, and some have no `reason`.
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
 * Calls `heard` with the reason when a signal aborts. Calls it at once if the signal has aborted, or with the error if
 * the signal cannot be listened to. Never throws. Returns a function that removes the listener, and returns true if
 * that worked.
 */
export function listenForAbort(signal: AbortSignal, heard: (reason: unknown) => void): () => boolean {
  let isOver = false;
  const tell = (reason: unknown): void => {
    if (isOver) return;
    isOver = true;
    heard(reason);
  };
  // The application may abort the signal in another job's context, which has nothing to do with the call that ends
  // here.
  const listener = (): void => inNoContext(tell, abortReason(signal));
  try {
    callApplication(() => signal.addEventListener('abort', listener, { once: true }));
    // The signal may have aborted since the last check. Then it calls no new listener.
    if (signal.aborted) listener();
  } catch (error) {
    tell(error);
  }
  return () => {
    try {
      callApplication(() => signal.removeEventListener('abort', listener));
      return true;
    } catch {
      // For example, the signal has no such method.
      return false;
    }
  };
}
