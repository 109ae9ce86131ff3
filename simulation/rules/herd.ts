import type { LockPlan } from '../plan.ts';
import type { Bench } from './bench.ts';

/**
 * I6: one departure wakes a constant number of waiters: the next one, and the one that looks a place further ahead. The
 * owner of the znode watches it too, and so does a client that waits to take the lock by force.
 */
export class Herd {
  readonly #bench: Bench;
  readonly #folders: ReadonlySet<string>;
  readonly #sessionTimeoutMs: number;
  /** The sessions that got the event of a deletion while they waited in the same queue. */
  readonly #told = new Map<string, Set<bigint>>();
  readonly #asked = new Set<string>();
  readonly #owners = new Map<string, bigint>();
  /**
   * When a znode of the session last left a queue. Its watches may stay until its client has removed them. A follower
   * that is cut off keeps a client whose link is half-open for longer than its session lives.
   */
  readonly #leftAt = new Map<bigint, number>();

  constructor(bench: Bench, locks: readonly LockPlan[], sessionTimeoutMs: number) {
    this.#bench = bench;
    this.#sessionTimeoutMs = sessionTimeoutMs;
    this.#folders = new Set(locks.filter(isQueue).map(({ path }) => path));
  }

  changed(created: readonly string[], deleted: readonly string[]): void {
    for (const path of created)
      if (this.#folders.has(folderOf(path))) this.#owners.set(path, this.#bench.committed().ownerOf(path) ?? 0n);
    for (const path of deleted) {
      const owner = this.#owners.get(path);
      if (owner !== undefined) this.#leftAt.set(owner, this.#bench.now());
    }
  }

  /** A client has asked this holder to release, and may watch its znode. */
  asked(path: string): void {
    this.#asked.add(path);
  }

  /** A server tells a session that the znode was deleted. */
  told(path: string, session: bigint): void {
    const folder = folderOf(path);
    if (!this.#folders.has(folder) || this.#asked.has(path)) return;
    // The owner watches it too. A server that catches up may tell it before `changed` is called.
    if (this.#owners.get(path) === session) return;
    if (this.#bench.now() - (this.#leftAt.get(session) ?? -Infinity) < this.#sessionTimeoutMs * longestWatch) return;
    const committed = this.#bench.committed();
    if (!committed.children(folder).some((name) => committed.ownerOf(`${folder}/${name}`) === session)) return;
    const told = this.#told.get(path) ?? new Set();
    this.#told.set(path, told.add(session));
    if (told.size > mostWoken) this.#bench.tell('I6', `the end of ${path} wakes ${told.size} waiting sessions`);
  }
}

/** True if one owner has the lock at a time, and each waits for the one before it. */
export function isQueue({ is }: LockPlan): boolean {
  return is === 'mutex' || is === 'sticky' || is === 'election';
}

const mostWoken = 2;
/** In session timeouts. */
const longestWatch = 2;

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
