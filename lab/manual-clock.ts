import type { Clock } from '../src/support/clock.ts';

/** A clock that moves only by its methods. */
export class ManualClock implements Clock {
  #now = 1_000;
  readonly #timers = new Map<object, { dueAt: number; run: () => void }>();

  now(): number {
    return this.#now;
  }

  after(delayMs: number, run: () => void): () => void {
    const key = {};
    this.#timers.set(key, { dueAt: this.#now + delayMs, run });
    return () => void this.#timers.delete(key);
  }

  afterPoll(run: () => void): void {
    run();
  }

  wall(): number {
    return this.#now;
  }

  get timers(): number {
    return this.#timers.size;
  }

  /** Time passes while the event loop is blocked: no timer runs. */
  stall(ms: number): void {
    this.#now += ms;
  }

  /** The machine sleeps: time passes, and the timers of the system do not advance. */
  sleep(ms: number): void {
    this.#now += ms;
    for (const timer of this.#timers.values()) timer.dueAt += ms;
  }

  /** Runs the timers that become due, in their order. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers]
        .filter(([, timer]) => timer.dueAt <= until)
        .sort(([, a], [, b]) => a.dueAt - b.dueAt);
      if (!next) break;
      this.#timers.delete(next[0]);
      this.#now = Math.max(this.#now, next[1].dueAt);
      next[1].run();
    }
    this.#now = until;
  }
}
