import {
  exists,
  getChildren,
  getData,
  type Operation,
  type Stat,
  type WatchEventType,
  type WatchKind,
} from '../wire/operations.js';

/**
 * The watches of one kind in one session, counted by path. The server keeps one watch per (session, path), for any
 * number of listeners. A watch fires once, for all its listeners. Most paths have one listener, and need no set.
 */
export class Watches {
  readonly #byPath = new Map<string, WatchListener | Set<WatchListener>>();

  add(path: string, listener: WatchListener): void {
    const present = this.#byPath.get(path);
    if (present === undefined) this.#byPath.set(path, listener);
    else if (typeof present !== 'function') present.add(listener);
    else if (present !== listener) this.#byPath.set(path, new Set([present, listener]));
  }

  /** Returns true if the path has no listener any more, so that the server's watch should be removed. */
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

/** The kinds of content that can be watched, and the answers that plant the watches. */
export interface Watched {
  readonly data: { readonly data: Buffer; readonly stat: Stat };
  readonly children: string[];
  /** Only for a znode that does not exist yet. */
  readonly creation: Stat;
}

/**
 * The requests that plant the watches. Data is watched by getData, for two reasons. On a znode that does not exist,
 * getData leaves no watch behind, but exists does. And exists needs no read permission, but servers send events only to
 * clients that may read the znode (CVE-2024-23944), so the wait would never end.
 */
export const watchQuestions: { readonly [What in keyof Watched]: (path: string) => Operation<Watched[What]> } = {
  data: (path) => getData(path, true),
  children: (path) => getChildren(path, true),
  creation: (path) => exists(path, true),
};

/** The kind of the server's watch. */
export function watchKindOf(what: keyof Watched): WatchKind {
  return what === 'children' ? what : 'data';
}
