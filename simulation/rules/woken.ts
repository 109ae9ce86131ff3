import { parentOf } from '../../src/zookeeper/wire/path.ts';
import { nameOf, type Claim } from '../claim.ts';
import type { LockPlan } from '../plan.ts';
import { admittedTo, pathsOf } from './admitted.ts';
import type { Bench } from './bench.ts';
import type { Losses } from './losses.ts';

/**
 * A waiter that no other waiter or holder keeps out is granted its lock soon, if no fault keeps the news from it. It asks
 * the servers itself after a session timeout, so a waiter that no event has woken would be granted all the same, but late.
 */
export class Woken {
  readonly #bench: Bench;
  readonly #losses: Losses;
  readonly #latestMs: number;
  readonly #lockBy: ReadonlyMap<string, LockPlan>;
  /** By the path of each lock: since when its znodes are admitted. */
  readonly #since = new Map<string, ReadonlyMap<string, number>>();

  constructor(bench: Bench, losses: Losses, locks: readonly LockPlan[], sessionTimeoutMs: number) {
    this.#bench = bench;
    this.#losses = losses;
    this.#latestMs = 0.6 * sessionTimeoutMs;
    this.#lockBy = new Map(locks.flatMap((lock) => pathsOf(lock).map((path) => [path, lock])));
  }

  /** These znodes were created, deleted or written. */
  changed(paths: readonly string[]): void {
    const locks = paths.flatMap((path) => this.#lockBy.get(path) ?? this.#lockBy.get(parentOf(path)) ?? []);
    for (const lock of new Set(locks)) this.#look(lock);
  }

  granted(claim: Claim): void {
    const { hold, owner, path, calledAt, sessionId } = claim;
    const { client, lock } = owner;
    const admittedAt = this.#since.get(lock.path)?.get(path);
    // The later grants of a sticky lock use the same znode.
    if (admittedAt === undefined || hold.isReentrant || hold.grantNumber > 0n || isEarlyPart(owner)) return;
    if (!this.#losses.isCalm(client.name)) return;
    const since = Math.max(admittedAt, calledAt, client.connectedAt.get(sessionId) ?? 0, client.process.stalledUntil);
    const waitedMs = this.#bench.now() - since;
    if (waitedMs > this.#latestMs)
      this.#bench.tell(
        'I4',
        `${nameOf(claim)} was first for ${Math.round(waitedMs)} ms before it was granted its lock`,
      );
  }

  /** A lease may have been admitted before it existed: with the turn in which it was created. */
  #look(lock: LockPlan): void {
    const before = this.#since.get(lock.path);
    const admitted = admittedTo(lock, this.#bench.committed());
    const sinceOf = (path = ''): number | undefined => before?.get(path);
    this.#since.set(
      lock.path,
      new Map(admitted.map(({ path, turn }) => [path, sinceOf(path) ?? sinceOf(turn) ?? this.#bench.now()])),
    );
  }
}

/** True if the grant waits for others: a part of a multi-lock, or the first of two leases. */
function isEarlyPart({ call, id }: Claim['owner']): boolean {
  return call.how === 'multi' || (call.how === 'many' && id.endsWith('.0'));
}
