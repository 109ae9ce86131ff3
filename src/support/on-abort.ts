import { listenForAbort } from './abort-signal.js';
import { Listeners } from './listeners.js';

/**
 * Calls `listener` with the reason when `signal` aborts, in this very call if it has, or if it cannot be listened to; returns what takes it back. However many
 * calls share a signal, it carries one listener of ours: from the eleventh on, Node warns of a leak.
 */
export function onAbort(signal: AbortSignal, listener: (reason: unknown) => void): () => void {
  const hub = hubs.get(signal) ?? open(signal);
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
    if (hub.count === 0 && hub.stop()) hubs.delete(signal);
  };
}

interface Hub {
  readonly listeners: Listeners<unknown>;
  /** Once it has aborted. */
  end: { readonly reason: unknown } | undefined;
  stop: () => boolean;
  count: number;
}

const hubs = new WeakMap<AbortSignal, Hub>();

function open(signal: AbortSignal): Hub {
  const hub: Hub = { listeners: new Listeners(), end: undefined, stop: () => false, count: 0 };
  hub.stop = listenForAbort(signal, (reason) => {
    hub.end = { reason };
    hub.listeners.tell(reason);
  });
  if (hub.end) hub.stop();
  else hubs.set(signal, hub);
  return hub;
}

function nothing(): void {
  // There is nothing to take back.
}
