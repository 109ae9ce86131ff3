import { uptime } from 'node:os';
import { inNoContext } from './no-context.js';
import { sleeplessTime } from './sleepless-time.js';

/** Time as an argument: tests control it, and a user's fake timers cannot stop the lock's own timers. */
export interface Clock {
  /** Monotonic milliseconds, including the time for which the machine slept. Only differences have a meaning. */
  now(): number;
  /**
   * Calls `run` once, at least `delayMs` milliseconds from now. Returns a function that cancels the call. Delays beyond
   * 2^31 - 1 ms work. With `keepsProcess: false`, a process with nothing else to do exits before the call.
   */
  after(delayMs: number, run: () => void, options?: { readonly keepsProcess: boolean }): CancelTimer;
  /** Calls `run` after one turn of the poll phase, when unread data in the sockets has been read. */
  afterPoll(run: () => void): void;
  /** The time of day: milliseconds since 1970. Any program may set it, so it is only shown, and decides nothing. */
  wall(): number;
}

export type CancelTimer = () => void;

// Read when the module loads, so that a test library that replaces the globals later does not affect the lock.
const { setTimeout, clearTimeout, setImmediate, performance } = globalThis;
const wall = Date.now;
const now = sleeplessTime({
  monotonic: performance.now.bind(performance),
  wall,
  uptime: () => uptime() * 1_000,
});

const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now,

  after(delayMs, run, { keepsProcess } = { keepsProcess: true }) {
    const dueAt = now() + delayMs;
    let timer: ReturnType<typeof setTimeout>;
    const arm = (): void => {
      const leftMs = dueAt - now();
      // Node's timers count whole milliseconds and may fire a fraction early. A deadline must not.
      if (!(leftMs > 0)) run();
      else timer = setTimeout(arm, Math.min(Math.ceil(leftMs), longestTimerMs));
      if (!keepsProcess) timer.unref();
    };
    // The timer must not keep the caller's context alive, for example that of a request that called `acquire()`.
    timer = inNoContext(setTimeout, arm, Math.min(Math.ceil(delayMs), longestTimerMs));
    if (!keepsProcess) timer.unref();
    return () => clearTimeout(timer);
  },

  afterPoll(run) {
    inNoContext(setImmediate, run);
  },

  wall,
};
