import { inNoContext } from '../../../../src/support/no-context.js';
import { systemClock } from '../../../../src/support/clock.js';

/** The time, as an argument. */
export interface Clock {
  /** Milliseconds since 1970. Never goes back. */
  now(): number;
  /** Calls `run` once, `delayMs` from now. Returns a function that cancels the call. */
  after(delayMs: number, run: () => void): () => void;
}

// Date.now at the time when this module was loaded: fake timers that are installed later do not affect the server.
const offset = Date.now() - systemClock.now();

/** The machine's time, even if the test fakes its own timers. */
export const machineClock: Clock = {
  now: () => offset + systemClock.now(),
  after: (delayMs, run) => inNoContext(() => systemClock.after(delayMs, run)),
};
