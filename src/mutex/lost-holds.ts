import type { Hold } from './hold.js';

/** The holds of one client that were lost and are not yet released, the oldest first. */
export class LostHolds {
  readonly #forgets = new Map<Hold, () => void>();

  /**
   * Keeps a lost hold until its release. Only a limited number is kept, because applications that rely on `leaseMs` may
   * never release a lost hold.
   *
   * @param forget is called if the hold is not kept any longer
   */
  remember(lost: Hold, forget: () => void): void {
    this.#forgets.set(lost, forget);
    const [oldest] = this.#forgets;
    if (this.#forgets.size <= mostLost || oldest === undefined) return;
    this.#forgets.delete(oldest[0]);
    oldest[1]();
  }

  /** Forgets a hold that was released. */
  released(hold: Hold): void {
    this.#forgets.delete(hold);
  }
}

/** How many lost and unreleased holds are kept. */
const mostLost = 1_000;
