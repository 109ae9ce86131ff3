import { setMaxListeners } from 'node:events';
import { Listeners } from './listeners.js';
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

/** The controller of a signal for the application, whose job may give it to many calls at the same time. */
export function newAborter(): AbortController {
  const aborter = new AbortController();
  try {
    setMaxListeners(0, aborter.signal); // Node.js would warn of a leak at the eleventh
  } catch {
    // The application has replaced AbortController, and the signal is none of Node.js.
  }
  return aborter;
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

/**
 * Listens to AbortSignals. A signal carries one listener of this library, no matter how many calls of how many clients
 * share it, because Node warns of a leak from the eleventh listener on.
 */
class AbortHubs {
  /** If a signal cannot remove a listener, its hub lives as long as the signal. */
  readonly #hubs = new WeakMap<AbortSignal, Hub>();

  /**
   * Calls `listener` with the reason when `signal` aborts. Calls it at once if the signal has aborted, or cannot be
   * listened to. Returns a function that removes the listener.
   */
  onAbort(signal: AbortSignal, listener: (reason: unknown) => void): () => void {
    const hub = this.#hubs.get(signal) ?? this.#open(signal);
    if (hub.end) {
      listener(hub.end.reason);
      return () => {};
    }
    hub.listeners.add(listener);
    hub.count += 1;
    return () => {
      if (!hub.listeners.delete(listener)) return;
      hub.count -= 1;
      // If the signal cannot remove the hub's listener, that listener serves the next calls.
      if (hub.count === 0 && hub.stop()) this.#hubs.delete(signal);
    };
  }

  #open(signal: AbortSignal): Hub {
    const hub: Hub = { listeners: new Listeners(), end: undefined, stop: () => false, count: 0 };
    hub.stop = listenForAbort(signal, (reason) => {
      hub.end = { reason };
      hub.listeners.tell(reason);
    });
    if (hub.end) hub.stop();
    else this.#hubs.set(signal, hub);
    return hub;
  }
}

/**
 * One instance for the process, because a signal belongs to the application, which may give it to all of its clients.
 */
export const abortHubs = new AbortHubs();

interface Hub {
  readonly listeners: Listeners<unknown>;
  /** Set once the signal has aborted. */
  end: { readonly reason: unknown } | undefined;
  stop: () => boolean;
  count: number;
}
