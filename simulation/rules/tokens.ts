import { isLater, isShared, nameOf, type Claim } from '../claim.ts';
import type { Bench } from './bench.ts';

/** The token of an exclusive lock grows from owner to owner. */
export class Tokens {
  readonly #bench: Bench;
  /** The newest owner of each lock, by its path. */
  readonly #newest = new Map<string, Claim>();

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  granted(claim: Claim): void {
    if (isShared(claim)) return;
    const { lock, flow } = claim.owner;
    const last = this.#newest.get(lock.path);
    this.#newest.set(lock.path, claim);
    if (!last || last.owner.flow === flow || isLater(claim, last)) return;
    const [a, b] = [last.hold.fencingToken, claim.hold.fencingToken];
    this.#bench.tell('token', `${nameOf(claim)} has the token ${b}, after ${nameOf(last)} with ${a}`);
  }
}
