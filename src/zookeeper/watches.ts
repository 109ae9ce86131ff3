import type { WatchEventType } from './connection.js';
import { exists, getChildren, getData, type Operation, type Stat, type WatchKind } from './operations.js';

/**
 * The watches of one kind of one session, counted by path: the server keeps one per (session, path), however many wait
 * for it.
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
    const isLast =
      typeof present === 'function' ? present === listener : present?.delete(listener) === true && present.size === 0;
    return isLast && this.#byPath.delete(path);
  }

  fire(path: string, event: WatchEventType): void {
    const present = this.#byPath.get(path);
    this.#byPath.delete(path);
    if (present === undefined) return;
    for (const listener of typeof present === 'function' ? [present] : present) listener(event);
  }

  has(path: string): boolean {
    return this.#byPath.has(path);
  }

  paths(): string[] {
    return [...this.#byPath.keys()];
  }
}

export type WatchListener = (event: WatchEventType) => void;

/** What can be watched, and what is answered to who asks for it. */
export interface Watched {
  readonly data: { readonly data: Buffer; readonly stat: Stat };
  readonly children: string[];
  /** Of a znode that is not there. */
  readonly creation: Stat;
}

/**
 * The questions that plant the watches. With getData: on a znode that is not there it leaves no watch behind, as exists
 * would. Exists would need no permission to
 * read, either, and must not stand in for it: servers tell events only to those who may read the znode
 * (CVE-2024-23944), so the wait would never end.
 */
export const watchQuestions: { readonly [What in keyof Watched]: (path: string) => Operation<Watched[What]> } = {
  data: (path) => getData(path, true),
  children: (path) => getChildren(path, true),
  creation: (path) => exists(path, true),
};

/** Which of the server's watches it is. */
export function watchKindOf(what: keyof Watched): WatchKind {
  return what === 'children' ? what : 'data';
}
