import type { Grant } from '../../src/internals/grant.ts';
import { nameOf, type Claim } from '../claim.ts';
import type { Bench } from './bench.ts';

/** I7: only code inside a live context that has the lock re-enters it, and such code does. */
export class ReEntry {
  readonly #bench: Bench;
  readonly #sharing = new WeakMap<Grant, Claim[]>();

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  granted(claim: Claim): void {
    const { hold } = claim;
    const sharing = this.#sharing.get(hold.grant) ?? [];
    const open = sharing.filter(({ isReleased }) => !isReleased);
    if (hold.isReentrant && open.length === 0)
      this.#bench.tell('I7', `${nameOf(claim)} has re-entered a lock that its flow does not have`);
    this.#sharing.set(hold.grant, [...open, claim]);
  }

  /** Code inside the flow of `outer` was granted the same lock while `outer` was valid. */
  nested(outer: Claim, inner: Claim): void {
    if (inner.hold.grant !== outer.hold.grant)
      this.#bench.tell('I7', `${nameOf(inner)} did not re-enter the lock of ${nameOf(outer)}, around it`);
  }
}
