import { systemClock, type Clock } from '../src/support/clock.ts';
import { virtualMachine } from './world.ts';

/** A clock that knows the timers which are still to fire, and keep their process from its end. */
export class CountedClock implements Clock {
  readonly now = systemClock.now;
  readonly wall = systemClock.wall;
  readonly afterPoll = systemClock.afterPoll;
  readonly #after = systemClock.after;
  readonly #open = new Map<symbol, Timer>();
  /** The test that runs now. */
  during = '';

  readonly after: Clock['after'] = (delayMs, run, options) => {
    if (options?.keepsProcess === false) return this.#after(delayMs, run, options);
    const timer = Symbol('timer');
    const { stack = '' } = new Error(`${this.during} set a timer of ${delayMs} ms`);
    this.#open.set(timer, { stack, whose: virtualMachine?.time.process });
    const cancel = this.#after(delayMs, () => {
      this.#open.delete(timer);
      run();
    });
    return () => {
      this.#open.delete(timer);
      cancel();
    };
  };

  /** @throws Error that names the place at which each timer was set, if there is one (I9) */
  expectNoTimer(): void {
    const left = [...this.#open.values()].filter(({ whose }) => whose?.isDead !== true);
    if (left.length > 0)
      throw new Error(`Timers that nobody needs are still to fire:\n${left.map(({ stack }) => stack).join('\n')}`);
  }
}

interface Timer {
  readonly stack: string;
  readonly whose: { readonly isDead: boolean } | undefined;
}
