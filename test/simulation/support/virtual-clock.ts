import type { EnsembleClock } from '../../../lab/ensemble/settings.ts';

/** A clock that jumps to its next timer. Timers that are due at the same time run in the order of their creation. */
export class VirtualClock implements EnsembleClock {
  #now = 0;
  #timers: { readonly dueAt: number; readonly run: () => void; isCancelled: boolean }[] = [];

  now(): number {
    return this.#now;
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { dueAt: this.#now + delayMs, run, isCancelled: false };
    let at = this.#timers.length;
    // Sorted by time, the next timer last.
    while (at > 0 && (this.#timers[at - 1]?.dueAt ?? 0) <= timer.dueAt) at -= 1;
    this.#timers.splice(at, 0, timer);
    return () => void (timer.isCancelled = true);
  }

  /** The number of timers that will run. */
  get timers(): number {
    return this.#timers.filter(({ isCancelled }) => !isCancelled).length;
  }

  advance(ms: number): void {
    const until = this.#now + ms;
    for (let next = this.#timers.at(-1); next && next.dueAt <= until; next = this.#timers.at(-1)) {
      this.#timers.pop();
      if (next.isCancelled) continue;
      this.#now = next.dueAt;
      next.run();
    }
    this.#now = until;
  }
}
