import { inNoContext } from '../support/no-context.js';
import { systemClock } from '../support/clock.js';

/** Time as an argument. */
export interface Clock {
  /** Milliseconds since 1970, which never go back. */
  now(): number;
  /** Calls `run` once, `delayMs` from now, and returns what cancels it. */
  after(delayMs: number, run: () => void): () => void;
}

// Date.now as it was when the module was loaded: fake timers that come later do not reach the server.
const offset = Date.now() - systemClock.now();

/** The machine's time, however the test's own timers are faked. */
export const machineClock: Clock = {
  now: () => offset + systemClock.now(),
  after: (delayMs, run) => inNoContext(() => systemClock.after(delayMs, run)),
};
