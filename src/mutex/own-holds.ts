import type { Hold } from './hold.js';
import { currentContext, type LockContext } from './lock-context.js';

/** The handles of one mutex that were not released yet, the oldest first, and whose each is. */
export class OwnHolds {
  readonly #mutex: object;
  readonly #unreleased = new Set<Hold>();

  constructor(mutex: object) {
    this.#mutex = mutex;
  }

  [Symbol.iterator](): Iterator<Hold> {
    return this.#unreleased.values();
  }

  add(hold: Hold): Hold {
    this.#unreleased.add(hold);
    hold.context?.add(this.#mutex, hold);
    return hold;
  }

  delete(hold: Hold): void {
    this.#unreleased.delete(hold);
    hold.context?.delete(this.#mutex, hold);
  }

  /** Whether anybody in this process holds the mutex. */
  get isAnyValid(): boolean {
    return [...this.#unreleased].some((hold) => hold.isValid);
  }

  /** What the owner that a context belongs to would re-enter. */
  heldBy(context: LockContext | undefined): Hold | undefined {
    for (const owner of context?.owners() ?? []) {
      const hold = owner.holdOf(this.#mutex);
      if (hold) return hold;
    }
    return undefined;
  }

  /** What a release that names no hold would settle: the caller's latest; outside of every context the oldest that no live one owns. */
  ofCaller(): Hold | undefined {
    const context = currentContext();
    if (!context) return [...this.#unreleased].find((hold) => !hold.context?.isLive);
    // Lost ones included: a late release must not take the hold around it.
    return [...context.owners()].map((owner) => owner.holdsOf(this.#mutex).at(-1)).find((hold) => hold !== undefined);
  }

  /** All that such releases would settle, one after another. */
  allOfCaller(): Hold[] {
    const context = currentContext();
    return context ? [...context.owners()].flatMap((owner) => owner.holdsOf(this.#mutex)) : [...this.#unreleased].filter((hold) => !hold.context?.isLive);
  }
}
