import { systemClock, type Clock } from '../src/support/clock.ts';

/** The clock of one client, which knows the client's timers that are still to fire and keep the process from its end. */
export class CountedClock implements Clock {
  readonly now = systemClock.now;
  readonly wall = systemClock.wall;
  readonly afterPoll = systemClock.afterPoll;
  readonly #open = new Map<symbol, string>();

  readonly after: Clock['after'] = (delayMs, run, options) => {
    if (options?.keepsProcess === false) return systemClock.after(delayMs, run, options);
    const timer = Symbol('timer');
    this.#open.set(timer, `${delayMs} ms${new Error('set').stack?.split('\n').slice(2, 6).join('\n')}`);
    const cancel = systemClock.after(delayMs, () => {
      this.#open.delete(timer);
      run();
    });
    return () => {
      this.#open.delete(timer);
      cancel();
    };
  };

  /** The client is closed, and its calls have settled: a timer that is left would keep its process (I9). */
  expectNoTimer(): void {
    if (this.#open.size === 0) return;
    throw new Error(`Timers of a closed client are still to fire:\n${[...this.#open.values()].join('\n')}`);
  }
}
