import { parentOf } from '../../src/zookeeper/wire/path.ts';
import { inQueueOrder, nameOf, type Claim } from '../claim.ts';
import type { LockPlan } from '../plan.ts';
import type { Bench } from './bench.ts';
import type { Losses } from './losses.ts';

/**
 * A waiter that is first is granted its lock soon, if no fault keeps the news from it. It asks the servers itself after a
 * session timeout, so a waiter that no event has woken would be granted all the same, but late.
 */
export class Woken {
  readonly #bench: Bench;
  readonly #losses: Losses;
  readonly #latestMs: number;
  readonly #folders: readonly string[];
  /** When each znode became the first one of its queue. */
  readonly #firstAt = new Map<string, number>();

  constructor(bench: Bench, losses: Losses, locks: readonly LockPlan[], sessionTimeoutMs: number) {
    this.#bench = bench;
    this.#losses = losses;
    this.#latestMs = 0.6 * sessionTimeoutMs;
    this.#folders = locks.filter(isJudged).map(({ path }) => path);
  }

  changed(created: readonly string[], deleted: readonly string[]): void {
    for (const path of deleted) this.#firstAt.delete(path);
    for (const folder of new Set([...created, ...deleted].map(parentOf))) {
      if (!this.#folders.includes(folder)) continue;
      const [first = ''] = inQueueOrder(this.#bench.committed().children(folder));
      const path = `${folder}/${first}`;
      if (!this.#firstAt.has(path)) this.#firstAt.set(path, this.#bench.now());
    }
  }

  granted(claim: Claim): void {
    const { hold, owner, path, calledAt, sessionId } = claim;
    const { client, call } = owner;
    const firstAt = this.#firstAt.get(path);
    // The later grants of a sticky lock use the same znode.
    if (firstAt === undefined || hold.isReentrant || hold.grantNumber > 0n || call.how === 'multi') return;
    if (!this.#losses.isCalm(client.name)) return;
    const since = Math.max(firstAt, calledAt, client.connectedAt.get(sessionId) ?? 0, client.process.stalledUntil);
    const waitedMs = this.#bench.now() - since;
    if (waitedMs > this.#latestMs)
      this.#bench.tell(
        'I4',
        `${nameOf(claim)} was first for ${Math.round(waitedMs)} ms before it was granted its lock`,
      );
  }
}

/** A queue whose first znode is granted the lock, and that every call joins with a znode of its own. */
function isJudged({ is }: LockPlan): boolean {
  return is !== 'semaphore' && is !== 'semaphore-mutex' && is !== 'weighted';
}
