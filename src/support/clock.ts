import { uptime } from 'node:os';
import { inNoContext } from './no-context.js';
import { sleeplessTime } from './sleepless-time.js';

/** Time as an argument: tests drive it, and a user's fake timers cannot stop the lock's own. */
export interface Clock {
  /** Monotonic milliseconds, those included that the machine slept; only differences mean anything. */
  now(): number;
  /** Calls `run` once, at least `delayMs` from now; returns what cancels it. Delays beyond 2^31 - 1 ms work. */
  after(delayMs: number, run: () => void): CancelTimer;
  /** Calls `run` after one turn of the poll phase, when what lay unread in the sockets has been read. */
  afterPoll(run: () => void): void;
}

export type CancelTimer = () => void;

// Taken when the module loads: a test library that replaces the globals later does not reach the lock.
const { setTimeout, clearTimeout, setImmediate, performance } = globalThis;
const now = sleeplessTime({
  monotonic: performance.now.bind(performance),
  wall: Date.now,
  uptime: () => uptime() * 1_000,
});

const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now,

  after(delayMs, run) {
    const dueAt = now() + delayMs;
    let timer: ReturnType<typeof setTimeout>;
    const arm = (): void => {
      const leftMs = dueAt - now();
      // Node's timers count whole milliseconds and may fire a fraction early; a deadline must not.
      if (!(leftMs > 0)) run();
      else timer = setTimeout(arm, Math.min(Math.ceil(leftMs), longestTimerMs));
    };
    // Whoever asks for it, a request's `acquire()` for example, must not live on in what the timer does.
    timer = inNoContext(setTimeout, arm, Math.min(Math.ceil(delayMs), longestTimerMs));
    return () => clearTimeout(timer);
  },

  afterPoll(run) {
    inNoContext(setImmediate, run);
  },
};
