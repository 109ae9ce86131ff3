import type { WatchEventType } from './connection.js';

export type WatchListener = (event: WatchEventType) => void;

/**
 * The watches of one kind of one session, counted by path: the server keeps one per (session, path), however many wait for it.
 * A watch fires once, for all who wait.
 */
export class Watches {
  readonly #byPath = new Map<string, Set<WatchListener>>();

  add(path: string, listener: WatchListener): void {
    const listeners = this.#byPath.get(path);
    if (listeners) listeners.add(listener);
    else this.#byPath.set(path, new Set([listener]));
  }

  /** True when nobody waits for this path any more, so that the server's watch should go. */
  delete(path: string, listener: WatchListener): boolean {
    const listeners = this.#byPath.get(path);
    if (!listeners?.delete(listener) || listeners.size > 0) return false;
    this.#byPath.delete(path);
    return true;
  }

  fire(path: string, event: WatchEventType): void {
    const listeners = this.#byPath.get(path);
    this.#byPath.delete(path);
    for (const listener of listeners ?? []) listener(event);
  }

  paths(): string[] {
    return [...this.#byPath.keys()];
  }
}
