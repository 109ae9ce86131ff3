import type { Identity } from '../wire/identity.js';
import { events, type EventType } from '../wire/opcodes.js';
import { Refusal } from '../wire/refusal.js';

/**
 * One of the two tables of a server: the watches for data, or those for children. In ZooKeeper 3.9, a connection may
 * watch a path in several modes. In 3.8 the newest mode counts: a server forgets that a watch was persistent when the
 * same connection reads the path with a watch.
 */
export class WatchTable {
  readonly #keepsModes: boolean;
  readonly #watchers = new Map<string, Map<Watcher, readonly WatchMode[]>>();
  readonly #paths = new Map<Watcher, Set<string>>();
  #recursive = 0;

  constructor(version: ServerVersion) {
    this.#keepsModes = version === '3.9';
  }

  add(path: string, watcher: Watcher, mode: WatchMode): void {
    const watchers = this.#watchers.get(path) ?? new Map<Watcher, readonly WatchMode[]>();
    this.#watchers.set(path, watchers);
    const before = watchers.get(watcher) ?? [];
    const others = this.#keepsModes ? before.filter((each) => each !== mode) : [];
    this.#set(path, watcher, [...others, mode]);
    const paths = this.#paths.get(watcher) ?? new Set();
    this.#paths.set(watcher, paths.add(path));
  }

  /** @param mode only the watch in this mode. Returns true if there was such a watch */
  remove(path: string, watcher: Watcher, mode?: WatchMode): boolean {
    const modes = this.#watchers.get(path)?.get(watcher) ?? [];
    const left = mode === undefined ? [] : modes.filter((each) => each !== mode);
    if (left.length === modes.length) return false;
    this.#set(path, watcher, left);
    return true;
  }

  removeAll(watcher: Watcher): void {
    for (const path of [...(this.#paths.get(watcher) ?? [])]) this.remove(path, watcher);
    this.#paths.delete(watcher);
  }

  /**
   * Answers `checkWatches`. ZooKeeper 3.8 knows no modes there, and mistakes a watch of another connection for one of
   * this connection.
   */
  contains(path: string, watcher: Watcher, mode?: WatchMode): boolean {
    const modes = this.#watchers.get(path)?.get(watcher) ?? [];
    if (this.#keepsModes) return mode === undefined ? modes.length > 0 : modes.includes(mode);
    for (const place of this.#withParents(path)) {
      const watchers = this.#watchers.get(path);
      if ((place === path && watchers) || watchers?.get(watcher)?.includes('recursive')) return true;
    }
    return false;
  }

  /** Returns the connections that watch the path, and removes the watches that fire only once. */
  trigger(path: string, type: EventType): ReadonlySet<Watcher> {
    if (this.#watchers.size === 0) return noWatchers;
    const told = new Set<Watcher>();
    for (const place of this.#withParents(path)) {
      for (const [watcher, modes] of this.#watchers.get(place) ?? []) {
        const isRecursive = modes.includes('recursive') && type !== events.childrenChanged;
        if (isRecursive || (place === path && modes.some((each) => each !== 'recursive'))) told.add(watcher);
        if (place === path) this.remove(place, watcher, 'once');
      }
    }
    return told;
  }

  get watcherCount(): number {
    return this.#paths.size;
  }

  get pathCount(): number {
    return this.#watchers.size;
  }

  get size(): number {
    let size = 0;
    for (const watchers of this.#watchers.values()) size += watchers.size;
    return size;
  }

  #set(path: string, watcher: Watcher, modes: readonly WatchMode[]): void {
    const watchers = this.#watchers.get(path);
    if (!watchers) return;
    this.#recursive +=
      Number(modes.includes('recursive')) - Number(watchers.get(watcher)?.includes('recursive') ?? false);
    if (modes.length > 0) {
      watchers.set(watcher, modes);
      return;
    }
    watchers.delete(watcher);
    if (watchers.size === 0) this.#watchers.delete(path);
    this.#paths.get(watcher)?.delete(path);
  }

  /**
   * The path, followed by its parents if there is a recursive watch. The Java server fails on a path without a slash.
   */
  *#withParents(path: string): Generator<string> {
    for (let place = path; place !== '';) {
      const slash = place.lastIndexOf('/');
      if (slash === -1) throw Refusal.of('MARSHALLING_ERROR');
      yield place;
      if (this.#recursive === 0) return;
      place = place === '/' ? '' : place.slice(0, slash) || '/';
    }
  }
}

/** A connection, identified by its object. Watches belong to the connection, not to its session. */
export interface Watcher {
  readonly identities: readonly Identity[];
}

export interface WatchEvent {
  readonly watcher: Watcher;
  readonly type: EventType;
  readonly path: string;
  /** The transaction that made the event, if the server says so. */
  readonly zxid: number;
}

/** The ZooKeeper that the embedded server imitates: Debian's 3.8.0, or 3.9.5. */
export type ServerVersion = '3.8' | '3.9';

export type WatchMode = 'once' | 'persistent' | 'recursive';

const noWatchers: ReadonlySet<Watcher> = new Set();
