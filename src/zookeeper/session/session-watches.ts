import { inNoContext } from '../../support/no-context.js';
import { Listeners } from '../../support/listeners.js';
import { removeWatch, type Operation, type WatchEventType, type WatchKind } from '../wire/operations.js';
import type { Reply } from '../wire/replies.js';
import { watchKindOf, watchQuestions, Watches, type Watched, type WatchListener } from './watches.js';
import { ZooKeeperError } from '../wire/zookeeper-error.js';
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
    watches.add(path, listener);
    const question = watchQuestions[what](path);
    // An overloaded server may put the read off. If nobody waits any more by then, it would leave a watch behind.
    const beforeWrite = (): void => {
      if (watches.has(path)) return;
      reached('a watch put off until nobody wanted it');
      throw new ZooKeeperError(ZooKeeperError.connectionLoss, question.name, path);
    };
    const there = await this.#session.find({ ...question, beforeWrite });
    if (what === 'creation' && there !== undefined) this.remove(path, what, listener, { forget: true });
    if (what !== 'creation' && there === undefined) reached('a znode to watch was gone');
    if (what !== 'creation' && there === undefined) this.remove(path, what, listener, { forget: false });
    return there;
  }

  /** `forget` also removes the watch from the server, which otherwise keeps it as long as the znode exists. */
  remove(path: string, what: keyof Watched, listener: WatchListener, options: { readonly forget: boolean }): void {
    const kind = watchKindOf(what);
    if (!this.#byKind[kind].delete(path, listener) || !options.forget || !this.#session.isConnected) return;
    // After a failure, the server forgets the watch with the connection, or with the znode.
    void inNoContext(() => this.#session.request(removeWatch(path, kind)).catch(() => {}));
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
