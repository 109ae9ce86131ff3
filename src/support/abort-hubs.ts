import { listenForAbort } from './abort-signal.js';
import { Listeners } from './listeners.js';

/**
 * Listens to AbortSignals. However many calls of however many clients share a signal, it carries one listener of this
 * library: from the eleventh on, Node warns of a leak.
 */
class AbortHubs {
  /** A signal that takes no listener back has its hub for as long as it lives itself. */
  readonly #hubs = new WeakMap<AbortSignal, Hub>();

  /**
   * Calls `listener` with the reason when `signal` aborts, in this very call if it has, or if it cannot be listened to;
   * returns what takes it back.
   */
  onAbort(signal: AbortSignal, listener: (reason: unknown) => void): () => void {
    const hub = this.#hubs.get(signal) ?? this.#open(signal);
    if (hub.end) {
      listener(hub.end.reason);
      return nothing;
    }
    const remove = hub.listeners.add(listener);
    hub.count += 1;
    return () => {
      remove();
      hub.count -= 1;
      // Where a listener cannot be taken back, it serves the next calls.
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

/** One for the process: a signal belongs to the application, which may give it to all of its clients. */
export const abortHubs = new AbortHubs();

interface Hub {
  readonly listeners: Listeners<unknown>;
  /** Once it has aborted. */
  end: { readonly reason: unknown } | undefined;
  stop: () => boolean;
  count: number;
}

function nothing(): void {
  // There is nothing to take back.
}
