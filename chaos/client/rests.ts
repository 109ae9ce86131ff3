import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../lab/random.ts';

const lookEveryMs = 50;

/**
 * Times in which no owner of a client makes a call. They are longer than a session timeout, so the session becomes
 * quiet: without a holder, and with the waiters of calls that were made before.
 */
export class Rests {
  readonly #random: Random;
  readonly #sessionTimeoutMs: number;
  #beginsAt = 0;
  #endsAt = 0;

  constructor(random: Random, sessionTimeoutMs: number) {
    this.#random = random;
    this.#sessionTimeoutMs = sessionTimeoutMs;
  }

  /** Resolves when no rest is going on, or as soon as `isDraining` returns true. */
  async sitOut(isDraining: () => boolean): Promise<void> {
    this.#plan();
    while (performance.now() >= this.#beginsAt && performance.now() < this.#endsAt && !isDraining())
      await delay(lookEveryMs);
  }

  #plan(): void {
    if (performance.now() < this.#endsAt) return;
    this.#beginsAt = performance.now() + this.#random.between(0.5, 1.5) * this.#sessionTimeoutMs;
    this.#endsAt = this.#beginsAt + this.#random.between(1.5, 3) * this.#sessionTimeoutMs;
  }
}
