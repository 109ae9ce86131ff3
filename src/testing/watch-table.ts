import type { Identity } from './identity.js';
import { events, type EventType } from './opcodes.js';
import { Refusal } from './refusal.js';

/**
 * One of the two tables of a server: the watches for data, or those for children. A connection has at most one watch on
 * a path, and the newest mode counts: ZooKeeper 3.8 forgets that a watch was persistent when the same connection reads
 * the path with a watch.
 */
export class WatchTable {
  readonly #watchers = new Map<string, Map<Watcher, WatchMode>>();
  readonly #paths = new Map<Watcher, Set<string>>();
  #recursive = 0;

  add(path: string, watcher: Watcher, mode: WatchMode): void {
    const watchers = this.#watchers.get(path) ?? new Map<Watcher, WatchMode>();
    this.#watchers.set(path, watchers);
    this.#recursive += Number(mode === 'recursive') - Number(watchers.get(watcher) === 'recursive');
    watchers.set(watcher, mode);
    const paths = this.#paths.get(watcher) ?? new Set();
    this.#paths.set(watcher, paths.add(path));
  }

  remove(path: string, watcher: Watcher): boolean {
    const watchers = this.#watchers.get(path);
    const mode = watchers?.get(watcher);
    if (!watchers || mode === undefined) return false;
    watchers.delete(watcher);
    if (watchers.size === 0) this.#watchers.delete(path);
    if (mode === 'recursive') this.#recursive -= 1;
    this.#paths.get(watcher)?.delete(path);
    return true;
  }

  removeAll(watcher: Watcher): void {
    for (const path of [...(this.#paths.get(watcher) ?? [])]) this.remove(path, watcher);
    this.#paths.delete(watcher);
  }

  /**
   * Answers `checkWatches` as ZooKeeper 3.8.0 does, which mistakes a watch of another connection for one of this
   * connection.
   */
  contains(path: string, watcher: Watcher): boolean {
    for (const place of this.#withParents(path)) {
      const watchers = this.#watchers.get(path);
      if ((place === path && watchers) || watchers?.get(watcher) === 'recursive') return true;
    }
    return false;
  }

  /** Returns the connections that watch the path, and removes the watches that fire only once. */
  trigger(path: string, type: EventType): ReadonlySet<Watcher> {
    if (this.#watchers.size === 0) return noWatchers;
    const told = new Set<Watcher>();
    for (const place of this.#withParents(path)) {
      for (const [watcher, mode] of this.#watchers.get(place) ?? []) {
        if (mode === 'recursive') {
          if (type !== events.childrenChanged) told.add(watcher);
        } else if (place === path) {
          told.add(watcher);
          if (mode === 'once') this.remove(place, watcher);
        }
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
}

export type WatchMode = 'once' | 'persistent' | 'recursive';

const noWatchers: ReadonlySet<Watcher> = new Set();
