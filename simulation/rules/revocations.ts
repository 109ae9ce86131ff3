import type { Grant } from '../../src/internals/grant.ts';
import { nameOf, type Claim } from '../claim.ts';
import type { Bench } from './bench.ts';

/** A holder of a revocable lock gets the request of another client while it has the lock. */
export class Revocations {
  readonly #bench: Bench;
  readonly #withinMs: number;
  /** The times at which the requests were written, by the znode. */
  readonly #asked = new Map<string, number>();
  readonly #answered = new WeakSet<Grant>();

  /** @param withinMs the holder learns of the request, or of its loss, within this time */
  constructor(bench: Bench, withinMs: number) {
    this.#bench = bench;
    this.#withinMs = withinMs;
  }

  /** The servers have confirmed the request to release. */
  asked(path: string): void {
    if (!this.#asked.has(path)) this.#asked.set(path, this.#bench.now());
  }

  /** The listener of `makeRevocable` was called. */
  answered(grant: Grant): void {
    this.#answered.add(grant);
  }

  wasAnswered({ hold }: Claim): boolean {
    return this.#answered.has(hold.grant);
  }

  /** The job of the hold has ended. */
  released(claim: Claim): void {
    const { path, owner } = claim;
    const askedAt = this.#asked.get(path);
    if (owner.lock.isRevocable !== true || askedAt === undefined || claim.isTold || claim.isTaken) return;
    const since = Math.max(askedAt, claim.at, owner.client.process.stalledUntil);
    if (this.#bench.now() - since > this.#withinMs && !this.wasAnswered(claim))
      this.#bench.tell('revocation', `${nameOf(claim)} was asked to release, and its listener was not called`);
  }
}
