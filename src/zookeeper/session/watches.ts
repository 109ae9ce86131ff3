import { inNoContext } from '../../support/no-context.js';
import { Listeners } from '../../support/listeners.js';
import {
  exists,
  getChildren,
  getData,
  removeWatch,
  type Operation,
  type Stat,
  type WatchEventType,
  type WatchKind,
} from '../wire/operations.js';
import type { Reply } from '../wire/replies.js';
import { isRetryable, ZooKeeperError } from '../wire/zookeeper-error.js';
import { reached } from '../../support/reached.js';

/** The watches of one session. They move to the next connection with it. */
export class SessionWatches {
  readonly #session: WatchingSession;
  readonly #byKind: Readonly<Record<WatchKind, Watches>> = { data: new Watches(), children: new Watches() };
  readonly #events = new Listeners<WatchEvent>();

  constructor(session: WatchingSession) {
    this.#session = session;
  }

  /**
   * Calls `listener` at every watch event that the servers report to this session. Watches that were planted by a
   * request of their own end with the connection, and are not planted again.
   */
  onEvent(listener: (event: WatchEvent) => void): () => void {
    return this.#events.add(listener);
  }

  /**
   * Reads the znode, and calls `listener` at its next event. If the znode does not exist, resolves with undefined and
   * plants no watch, unless `what` is `creation`. If the answer was lost, the next connection plants the watch again.
   */
  async plant<What extends keyof Watched>(
    path: string,
    what: What,
    listener: WatchListener,
  ): Promise<Watched[What] | undefined> {
    const watches = this.#byKind[watchKindOf(what)];
    const listeners = watches.add(path, listener);
    const question = watchQuestions[what](path);
    // An overloaded server may put the read off. If nobody waits any more by then, it would leave a watch behind.
    const beforeWrite = (): void => {
      if (watches.has(path)) return;
      reached('a watch put off until nobody wanted it');
      throw new ZooKeeperError(ZooKeeperError.connectionLoss, question.name, path);
    };
    // An event of an earlier watch may arrive before the answer. Then the read leaves another watch.
    const answer = { wasWanted: false };
    const read: typeof question.read = (from) => ((answer.wasWanted = watches.has(path)), question.read(from));
    const there = await this.#session.find({ ...question, beforeWrite, read });
    const isLeft = there !== undefined || what === 'creation';
    const wasTold = !answer.wasWanted && !listeners.isEmpty;
    if (isLeft && wasTold && !watches.has(path)) this.#forget(path, what);
    if (what === 'creation' && there !== undefined) this.remove(path, what, listener, { forget: true });
    if (what !== 'creation' && there === undefined) reached('a znode to watch was gone');
    if (what !== 'creation' && there === undefined) this.remove(path, what, listener, { forget: false });
    return there;
  }

  /** `forget` also removes the watch from the server, which otherwise keeps it as long as the znode exists. */
  remove(path: string, what: keyof Watched, listener: WatchListener, options: { readonly forget: boolean }): void {
    if (this.#byKind[watchKindOf(what)].delete(path, listener) && options.forget) this.#forget(path, what);
  }

  /** Removes the watch from the server. After a failure, that forgets it with the connection, or with the znode. */
  #forget(path: string, what: keyof Watched): void {
    if (!this.#session.isConnected) return;
    const kind = watchKindOf(what);
    const removal = removeWatch(path, kind);
    // An overloaded server may put the removal off. By then, another waiter may need the watch.
    const beforeWrite = (): void => {
      if (this.#byKind[kind].has(path)) throw new ZooKeeperError(ZooKeeperError.connectionLoss, removal.name, path);
    };
    void inNoContext(() => this.#session.request({ ...removal, beforeWrite }).catch(() => {}));
  }

  /** True if a listener waits for the next event of the znode. Then the znode still exists, unchanged. */
  has(path: string): boolean {
    return this.#byKind.data.has(path);
  }

  /** The server reports the deletion of a znode once, for both kinds of watches. */
  fired(path: string, event: WatchEventType): void {
    if (event !== 'children') this.#byKind.data.fire(path, event);
    if (event === 'children' || event === 'deleted') this.#byKind.children.fire(path, event);
    if (!this.#events.isEmpty) this.#events.tell({ path, type: event });
  }

  paths(kind: WatchKind): string[] {
    return this.#byKind[kind].paths();
  }
}

/** A change that a watch has reported. */
export interface WatchEvent {
  readonly path: string;
  readonly type: WatchEventType;
}

interface WatchingSession {
  readonly isConnected: boolean;
  find<T>(operation: Operation<T>): Promise<T | undefined>;
  request<T>(operation: Operation<T>): Promise<Reply<T>>;
}

/**
 * Reports a znode's present content, and then its next event once, also if both arrive in one chunk. Returns a function
 * that removes the watch.
 */
export function watchZnode<What extends 'data' | 'children'>(
  session: { readonly watches: SessionWatches },
  path: string,
  what: What,
  listener: ZnodeListener<Watched[What]>,
): () => void {
  // The promise of the answer settles after an event that is read from the same chunk.
  let early: WatchEventType | undefined;
  let tellEvent: WatchListener = (event) => (early = event);
  const fired: WatchListener = (event) => tellEvent(event);
  const answered = (): void => {
    tellEvent = listener.told;
    if (early) listener.told(early);
  };
  tell(session.watches.plant(path, what, fired), listener, answered);
  return () => {
    early = undefined;
    session.watches.remove(path, what, fired, { forget: true });
  };
}

/** The callbacks for a watched znode. */
export interface ZnodeListener<Found> {
  /** Called with the present content of the znode. */
  readonly found?: ((znode: Found) => void) | undefined;
  /** Called at the next event. `deleted` is also reported if the znode does not exist. */
  readonly told: WatchListener;
  /**
   * Called if the answer was lost. The next connection plants the watch again, but does not report changes from before
   * the last answer on this one.
   */
  readonly lost?: () => void;
  /** Called if the server refused to plant the watch. */
  readonly failed: (error: unknown) => void;
}

/** A separate function, so that nothing of the request stays in memory as long as the watch does. */
function tell<Found>(
  answer: Promise<Found | undefined>,
  { found, told, lost, failed }: ZnodeListener<Found>,
  answered: () => void,
): void {
  answer.then(
    (znode) => {
      if (znode === undefined) return told('deleted');
      found?.(znode);
      answered();
    },
    (error: unknown) => {
      if (isRetryable(error)) lost?.();
      else failed(error);
      answered();
    },
  );
}

/** The listeners of one kind of watch in one session, by path. The server keeps one watch per (session, path). */
export class Watches {
  readonly #byPath = new Map<string, Listeners<WatchEventType>>();

  /** Returns the listeners of the path. An event leaves them as they are, and `delete` empties them. */
  add(path: string, listener: WatchListener): Listeners<WatchEventType> {
    const present = this.#byPath.get(path) ?? new Listeners();
    present.add(listener);
    this.#byPath.set(path, present);
    return present;
  }

  /** Returns true if the path has no listener any more, so that the server's watch should be removed. */
  delete(path: string, listener: WatchListener): boolean {
    const present = this.#byPath.get(path);
    return present?.delete(listener) === true && present.isEmpty && this.#byPath.delete(path);
  }

  /** A watch fires once, for all its listeners. */
  fire(path: string, event: WatchEventType): void {
    const present = this.#byPath.get(path);
    this.#byPath.delete(path);
    present?.tell(event);
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
