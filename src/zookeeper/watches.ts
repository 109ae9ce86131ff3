import type { WatchEventType } from './connection.js';

/**
 * The watches of one kind of one session, counted by path: the server keeps one per (session, path), however many wait for it.
 * A watch fires once, for all who wait. Mostly one does, and no set is needed.
 */
export class Watches {
  readonly #byPath = new Map<string, WatchListener | Set<WatchListener>>();

  add(path: string, listener: WatchListener): void {
    const present = this.#byPath.get(path);
    if (present === undefined) this.#byPath.set(path, listener);
    else if (typeof present !== 'function') present.add(listener);
    else if (present !== listener) this.#byPath.set(path, new Set([present, listener]));
  }

  /** True when nobody waits for this path any more, so that the server's watch should go. */
  delete(path: string, listener: WatchListener): boolean {
    const present = this.#byPath.get(path);
    const isLast = typeof present === 'function' ? present === listener : present?.delete(listener) === true && present.size === 0;
    return isLast && this.#byPath.delete(path);
  }

  fire(path: string, event: WatchEventType): void {
    const present = this.#byPath.get(path);
    this.#byPath.delete(path);
    if (present === undefined) return;
    for (const listener of typeof present === 'function' ? [present] : present) listener(event);
  }

  paths(): string[] {
    return [...this.#byPath.keys()];
  }
}

export type WatchListener = (event: WatchEventType) => void;
