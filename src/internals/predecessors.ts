import type { Session } from '../zookeeper/session/session.js';
import { watchZnode } from '../zookeeper/session/watches.js';
import { rememberHolder, seenIn, type SeenHolder } from './known-holder.js';
import { nodesOf, type LockNode, type WakeReason } from './znode/lock-node.js';
import { seekPhantoms } from './phantoms.js';
import { reached } from '../support/reached.js';

/**
 * The znodes that a waiter watches in a queue where no znode is inserted before another: its predecessor, and the znode
 * before the predecessor (look-ahead). The waiter is first as soon as every znode that one list showed before it is
 * deleted, in any order.
 *
 * The watches stay from one wait of the waiter to the next. A deletion that is reported while the waiter reads the queue
 * is judged together with the list.
 */
export class Predecessors {
  readonly #node: LockNode;
  /** In the order of the queue. */
  #znodes: readonly WatchedZnode[] = [];
  #areAll = false;
  #waiter: WaiterToWake | undefined;
  #stopProving: (() => void) | undefined;
  #stopSeeking: (() => void) | undefined;
  #wasListOld = false;

  constructor(node: LockNode) {
    this.#node = node;
  }

  get #session(): Session {
    return this.#node.session;
  }

  /** True if no other znodes stand before the waiter. Then the deletion of all of them grants the lock, without a list. */
  get areAll(): boolean {
    return this.#areAll;
  }

  /** The number of znodes before the waiter; undefined if unknown. */
  get count(): number | undefined {
    return this.#areAll ? this.#left.length : undefined;
  }

  /** True if the last list showed a znode that is deleted: the server lags, and has to catch up before the next list. */
  get wasListOld(): boolean {
    return this.#wasListOld;
  }

  /** True if the waiter may have become first or second. */
  get isAnyGone(): boolean {
    return this.#znodes.some((znode) => znode.is !== 'there');
  }

  /**
   * True if a list that shows only these znodes before the waiter is wrong: before a list without a watched znode, the
   * server tells its deletion.
   */
  isContradictedBy(paths: readonly string[]): boolean {
    return this.#znodes.some(({ path, seen, isGone }) => seen && !isGone && !paths.includes(path));
  }

  /** True if the znode before the predecessor is deleted: the next list probably shows that the waiter is second. */
  get isNextSecond(): boolean {
    const [first, ...others] = this.#znodes;
    return first?.isGone === true && others.some(({ isGone }) => !isGone);
  }

  /**
   * Watches the znodes of the newest list, and wakes `waiter` once: with `all-deleted`, or with `recheck` if only another
   * list can show which znodes are before the waiter. Returns a function that removes the waiter, and keeps the watches.
   */
  wait({ predecessor, before, position }: ZnodesBefore, waiter: WaiterToWake): () => void {
    const paths = before === undefined ? [predecessor] : [before, predecessor];
    const known = this.#znodes;
    this.#waiter = waiter;
    this.#areAll = position === paths.length;
    this.#znodes = paths.map((path) => known.find((znode) => znode.path === path) ?? new WatchedZnode(path));
    this.#wasListOld = this.#znodes.some(({ isGone }) => isGone);
    if (this.#wasListOld) reached('predecessor deleted while the list was under way');
    for (const znode of known) if (!this.#znodes.includes(znode)) znode.stop();
    for (const znode of this.#znodes) if (!known.includes(znode) || znode.is === 'missing') this.#watch(znode);
    const { failure } = this.#znodes.at(-1) ?? {};
    if (failure) waiter.fail(failure.error);
    else this.#judge();
    return () => {
      if (this.#waiter === waiter) this.#waiter = undefined;
    };
  }

  /** Removes the watches, and forgets the znodes. */
  close(): void {
    for (const znode of this.#znodes) znode.stop();
    this.#znodes = [];
    this.#areAll = false;
    this.#wasListOld = false;
    this.#stopProving?.();
    this.#stopProving = undefined;
    this.#stopSeeking?.();
    this.#stopSeeking = undefined;
  }

  #watch(znode: WatchedZnode): void {
    const local = nodesOf(this.#session).get(znode.path);
    if (local) {
      znode.stop = local.onGone(() => this.#deleted(znode));
      return;
    }
    znode.stop = watchZnode(this.#session, znode.path, 'data', {
      found: (content) => {
        if (znode.is === 'missing') znode.is = 'there';
        znode.seen = seenIn(znode.path, content);
        this.#rememberHolder();
      },
      told: (event) => {
        if (event !== 'deleted') {
          if (this.#znodes.includes(znode)) this.#watch(znode);
        } else if (znode.seen) this.#deleted(znode);
        else this.#missed(znode);
      },
      failed: (error) => this.#unwatchable(znode, error),
    });
  }

  #deleted(znode: WatchedZnode): void {
    znode.is = 'gone';
    if (this.#znodes.includes(znode)) this.#judge();
  }

  /** The list may have shown a znode that never existed, because a bit of its name was changed on its way. */
  #missed(znode: WatchedZnode): void {
    if (znode.is === 'missing') return this.#deleted(znode);
    znode.is = 'missing';
    if (this.#znodes.includes(znode)) this.#waiter?.wake('recheck');
  }

  /**
   * The waiter cannot wait without the watch on its predecessor. Without the other watch, it lists when its predecessor
   * is deleted.
   */
  #unwatchable(znode: WatchedZnode, error: unknown): void {
    if (!this.#znodes.includes(znode)) return;
    if (znode === this.#znodes.at(-1)) {
      znode.failure = { error };
      this.#waiter?.fail(error);
    } else {
      znode.stop();
      this.#areAll = false;
      this.#znodes = this.#znodes.filter((other) => other !== znode);
      this.#judge();
    }
  }

  #judge(): void {
    const left = this.#left;
    if (this.#areAll && left.length < 2) this.#becomeNext();
    if (left.length === this.#znodes.length) return;
    if (left.length === 0 && this.#areAll) this.#waiter?.wake('all-deleted');
    // A waiter behind a znode of this process is linked to it, which needs another list.
    else if (!this.#areAll || left.some(({ path }) => nodesOf(this.#session).has(path))) this.#waiter?.wake('recheck');
    else this.#rememberHolder();
  }

  /** The next event may let the waiter be granted. So its session proves itself from now on. */
  #becomeNext(): void {
    this.#stopProving ??= this.#session.keepProven(this.#node);
    this.#stopSeeking ??= seekPhantoms(
      this.#session,
      this.#node.host,
      this.#left.map(({ path }) => path),
      () => this.#waiter?.wake('recheck'),
    );
  }

  #rememberHolder(): void {
    const seen = this.#areAll ? this.#left[0]?.seen : undefined;
    if (seen) rememberHolder(this.#session, seen);
  }

  get #left(): readonly WatchedZnode[] {
    return this.#znodes.filter(({ isGone }) => !isGone);
  }
}

/** The znodes before a waiter, as a list showed them. */
export interface ZnodesBefore {
  /** The path of the znode right before the waiter. */
  readonly predecessor: string;
  /** The path of the znode right before the predecessor. Undefined if there is none, or if its place is unknown. */
  readonly before?: string | undefined;
  /** The number of all znodes before the waiter; undefined if unknown. */
  readonly position: number | undefined;
}

export interface WaiterToWake {
  wake(reason: WakeReason): void;
  fail(error: unknown): void;
}

class WatchedZnode {
  readonly path: string;
  /** `missing`: a list showed it, and the first read did not find it. The next list decides. */
  is: 'there' | 'missing' | 'gone' = 'there';
  seen: SeenHolder | undefined;
  /** The reason why the server refused the watch. */
  failure: { readonly error: unknown } | undefined;
  stop: () => void = () => {};

  constructor(path: string) {
    this.path = path;
  }

  get isGone(): boolean {
    return this.is === 'gone';
  }
}
