import { Listeners } from '../client/listeners.js';

interface Hub {
  readonly listeners: Listeners<unknown>;
  readonly heard: () => void;
  count: number;
}

const hubs = new WeakMap<AbortSignal, Hub>();

/**
 * Calls `listener` with the reason when `signal` aborts; returns what takes it back. However many calls share a signal, it carries one
 * listener of ours: from the eleventh on, Node warns of a leak.
 */
export function onAbort(signal: AbortSignal, listener: (reason: unknown) => void): () => void {
  const hub = hubs.get(signal) ?? open(signal);
  const remove = hub.listeners.add(listener);
  hub.count += 1;
  return () => {
    remove();
    hub.count -= 1;
    if (hub.count > 0) return;
    signal.removeEventListener('abort', hub.heard);
    hubs.delete(signal);
  };
}

function open(signal: AbortSignal): Hub {
  const listeners = new Listeners<unknown>();
  const hub = { listeners, heard: () => listeners.tell(signal.reason), count: 0 };
  signal.addEventListener('abort', hub.heard, { once: true });
  hubs.set(signal, hub);
  return hub;
}
