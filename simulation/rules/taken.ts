import type { Hold } from '../../src/index.ts';
import { inQueueOrder, nameOf, sequenceOf, type Claim } from '../claim.ts';
import type { Plan } from '../plan.ts';
import type { Bench } from './bench.ts';
import { isOrdered } from './order.ts';

/**
 * A third party that deletes a znode excuses its owner until the news arrives, and no longer: no hand-over
 * begins without a connection, because no server would confirm it; a connection that began after the deletion
 * reports it before the znode is granted; and a holder is told in the event in which its client is.
 */
export class Taken {
  readonly #bench: Bench;
  readonly #createdAt = new Map<string, number>();
  /** When znodes were deleted by a third party. */
  readonly #takenAt = new Map<string, number>();
  /** When these holders handed over with a connection. It may have ended before the session of the next was proven. */
  readonly #handedOverAt = new Map<string, number>();
  readonly #told: Claim[] = [];
  readonly #outageMs: number;
  readonly #laggingMs: number;
  /** Until then, servers may be behind the others because of a fault. */
  #outageUntil = -Infinity;

  constructor(bench: Bench, { sessionTimeoutMs, mostDelayMs }: Pick<Plan, 'sessionTimeoutMs' | 'mostDelayMs'>) {
    this.#bench = bench;
    this.#outageMs = 1.3 * sessionTimeoutMs;
    this.#laggingMs = shortestWatchedMs + 10 * mostDelayMs;
  }

  created(path: string): void {
    this.#createdAt.set(path, this.#bench.now());
  }

  taken(path: string): void {
    this.#takenAt.set(path, this.#bench.now());
  }

  /** A fault hurts the servers for this time. */
  outage(forMs: number): void {
    this.#outageUntil = Math.max(this.#outageUntil, this.#bench.now() + forMs + this.#outageMs);
  }

  /** The holder gives the lock to the next waiter: it releases, or its lease is over. */
  handedOver({ hold, path }: Claim): void {
    if (isConnected(hold)) this.#handedOverAt.set(path, this.#bench.now());
    else this.#handedOverAt.delete(path);
  }

  granted(claim: Claim): void {
    const { hold, owner, path } = claim;
    // The parts of such a call are granted one after another, and told together.
    if (hold.isReentrant || owner.call.how === 'multi' || owner.call.how === 'many' || owner.lock.is === 'semaphore')
      return;
    if (isOrdered(claim) && owner.role !== 'reader' && !isConnected(hold) && this.#isUnconfirmed(claim))
      this.#bench.tell('taken', `${nameOf(claim)} was handed its lock without a connection`);
    const takenAt = this.#takenAt.get(path) ?? Infinity;
    const beganAt = owner.client.connectedAt.get(claim.sessionId) ?? -Infinity;
    // It saw its znode on an earlier connection, which may be long after the call: the answer to its create may be lost.
    const isEarlyHandOver = this.#bench.now() < beganAt + latestWatchedMs && this.#ownBefore(claim) !== undefined;
    if (takenAt + this.#laggingMs < beganAt && takenAt > this.#outageUntil && !isEarlyHandOver)
      this.#bench.tell('taken', `${nameOf(claim)} was granted a znode that was gone before its connection began`);
  }

  /** True if the holder before it handed over without a connection. */
  #isUnconfirmed(claim: Claim): boolean {
    const before = this.#ownBefore(claim);
    // The judge learns of a later term of `lead` only with its grant.
    const waitsSince = Math.min(claim.calledAt, this.#createdAt.get(claim.path) ?? Infinity);
    return before !== undefined && waitsSince > (this.#handedOverAt.get(before) ?? -Infinity);
  }

  /** The last znode of the same session that stands before it: the holder's, from which it got the lock. */
  #ownBefore({ path, sessionId, owner: { lock } }: Claim): string | undefined {
    const committed = this.#bench.committed();
    return inQueueOrder(committed.children(lock.path))
      .map((name) => `${lock.path}/${name}`)
      .findLast((older) => sequenceOf(older) < sequenceOf(path) && committed.ownerOf(older) === sessionId);
  }

  /**
   * A client gets the event of a znode's deletion. Its holds are judged after it has read that. A hold that has just
   * been granted asks by itself, so the event may be that of another's watch: of a call of `forceRelease`, for example.
   */
  heard(claims: readonly Claim[], path: string, session: bigint): void {
    const before = this.#bench.now() - this.#laggingMs;
    for (const claim of claims)
      if (claim.path === path && claim.sessionId === session && claim.at < before && isOpen(claim))
        this.#told.push(claim);
  }

  /** Called after each event in which code of a client ran. */
  look(): void {
    for (const claim of this.#told.splice(0))
      if (isOpen(claim))
        this.#bench.tell('taken', `${nameOf(claim)} goes on after its client was told that the znode is gone`);
  }
}

function isOpen({ isTold, isReleased, owner }: Claim): boolean {
  return !isTold && !isReleased && !owner.client.process.isDead;
}

function isConnected({ grant }: Hold): boolean {
  return grant.node.session.isConnected;
}

/** A waiter that waits for so short a time watches its znode no more than a holder would. */
const shortestWatchedMs = 10;
/** A waiter behind a znode of its own process may wait so long without a watch, because the hand-over checks its znode. */
const latestWatchedMs = 1_100;
