import { systemClock } from '../src/support/clock.ts';
import type { VirtualTime } from './virtual/virtual-time.ts';

/** The timers of the library that keep a process, and have neither run nor been cancelled. */
export class LeftTimers {
  readonly #running = new Map<
    object,
    { readonly startedIn: string; readonly stack: string; readonly whose: Process }
  >();
  /** The test that runs now. */
  test = '';

  /** Counts the timers from now on. */
  constructor(time: VirtualTime) {
    const { after } = systemClock;
    systemClock.after = (delayMs, run, options) => {
      if (options?.keepsProcess === false) return after(delayMs, run, options);
      const timer = {};
      const { stack = '' } = new Error(`a timer of ${delayMs} ms`);
      this.#running.set(timer, { startedIn: this.test, stack, whose: time.process });
      const cancel = after(delayMs, () => {
        this.#running.delete(timer);
        run();
      });
      return () => {
        this.#running.delete(timer);
        cancel();
      };
    };
  }

  /** @throws Error that names the test and the place at which each timer was started, if there is one */
  expectNone(): void {
    const left = [...this.#running.values()].filter(({ whose }) => !whose.isDead);
    if (left.length > 0)
      throw new Error(
        `All tests have ended, and these timers of the library go on:\n${left.map(({ startedIn, stack }) => `${startedIn}: ${stack}`).join('\n')}`,
      );
  }
}

type Process = VirtualTime['process'];
