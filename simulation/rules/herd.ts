import type { LockPlan } from '../plan.ts';
import type { Bench } from './bench.ts';

/**
 * I6: the end of a znode wakes the next waiter, the waiter behind that one, and nobody else. Three more sessions may get
 * the event: that of the znode, that of a client which asked its holder to release, and that of a waiter which has left
 * the queue. The last one is excused for the watches of that waiter alone, and only until its client has removed them.
 */
export class Herd {
  readonly #bench: Bench;
  /** The znodes of each queue, in their order. Nothing is inserted before another znode. */
  readonly #queues: ReadonlyMap<string, QueuedZnode[]>;
  /** The sessions that may get the event of the end of a znode: its own, and those of the two znodes behind it. */
  readonly #mayHear = new Map<string, ReadonlySet<bigint>>();
  /** The znodes that have left the queue from one of the two places behind a znode. */
  readonly #leftBehind = new Map<string, QueuedZnode[]>();
  readonly #askers = new Map<string, Set<object>>();
  /** The deletions of znodes that clients were told, and those among them that no rule judges. */
  told = 0;
  excused = 0;

  constructor(bench: Bench, locks: readonly LockPlan[]) {
    this.#bench = bench;
    this.#queues = new Map(locks.filter(isQueue).map(({ path }) => [path, []]));
  }

  changed(created: readonly string[], deleted: readonly string[]): void {
    for (const path of created)
      this.#queueOf(path)?.push({ path, session: this.#bench.committed().ownerOf(path) ?? 0n, isGivenUp: false });
    for (const path of deleted) this.#left(path);
  }

  /** The client has asked this holder to release, and may watch its znode. */
  asked(path: string, asker: object): void {
    this.#askers.set(path, (this.#askers.get(path) ?? new Set()).add(asker));
  }

  /** A client sends the deletion of a znode. If the znode is its own, it no longer waits by it. */
  givesUp(path: string, session: bigint): void {
    const znode = this.#queueOf(path)?.find((other) => other.path === path);
    if (znode?.session === session) znode.isGivenUp = true;
  }

  /**
   * A client learns that the znode was deleted.
   *
   * @param isForgetting true if the client has sent a request to remove the watch, and has no answer yet
   */
  heard(path: string, session: bigint, client: object, isForgetting: boolean): void {
    const mayHear = this.#mayHear.get(path);
    if (mayHear === undefined) return;
    this.told += 1;
    if (mayHear.has(session)) return;
    const isUnaware = this.#leftBehind.get(path)?.some((left) => left.session === session && !left.isGivenUp);
    if (isForgetting || isUnaware === true || this.#askers.get(path)?.has(client) === true) this.excused += 1;
    else this.#bench.tell('I6', `the end of ${path} wakes 0x${session.toString(16)}, which is not next to it`);
  }

  #left(path: string): void {
    const queue = this.#queueOf(path);
    const place = queue?.findIndex((other) => other.path === path) ?? -1;
    const znode = queue?.[place];
    if (queue === undefined || znode === undefined) return;
    const behind = queue.slice(place + 1, place + 1 + mostWoken);
    this.#mayHear.set(path, new Set([znode, ...behind].map(({ session }) => session)));
    for (const before of queue.slice(Math.max(0, place - mostWoken), place))
      this.#leftBehind.set(before.path, [...(this.#leftBehind.get(before.path) ?? []), znode]);
    queue.splice(place, 1);
  }

  #queueOf(path: string): QueuedZnode[] | undefined {
    return this.#queues.get(path.slice(0, path.lastIndexOf('/')));
  }
}

interface QueuedZnode {
  readonly path: string;
  readonly session: bigint;
  /** True if its client has sent its deletion. Before that, the client has removed the watches of its waiter. */
  isGivenUp: boolean;
}

/** True if one owner has the lock at a time, and each waits for the one before it. */
export function isQueue({ is }: LockPlan): boolean {
  return is === 'mutex' || is === 'sticky' || is === 'election';
}

const mostWoken = 2;
