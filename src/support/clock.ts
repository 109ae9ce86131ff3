import { uptime } from 'node:os';
import { inNoContext } from './no-context.js';

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

/**
 * Monotonic milliseconds that include the time for which the machine slept, because the servers' clocks continued, and
 * the servers have expired the sessions that were not kept alive. `uptime` shows that the machine slept, and the wall
 * clock shows for how long. `uptime` is read only when the wall clock has jumped, which it always does after a sleep.
 *
 * If `uptime` is in whole seconds, it cannot distinguish a short sleep from a wall clock that was set forward. Then the
 * jump counts as sleep, up to two seconds: a deadline may come too early, but never too late.
 */
export function sleeplessTime({ monotonic, wall, uptime }: TimeSources): () => number {
  let granularityMs = coarseMs;
  let sleptMs = 0;
  let last = look();
  return () => {
    const now = monotonic();
    if (Math.abs(wall() - now - last.wallLead) > shortestSleepMs) {
      const next = look();
      // The process was interrupted between the two clocks, and the next call compares them again.
      if (Math.abs(next.wallLead - last.wallLead) < shortestSleepMs - roundingMs) return now + sleptMs;
      const moreMs = sleptBetween(last, next, granularityMs);
      sleptMs += moreMs;
      // Sleeps that are too short to be detected add up until they are long enough.
      last = moreMs > 0 ? next : { ...last, wallLead: next.wallLead };
    }
    return now + sleptMs;
  };

  /** Returns the quickest of a few looks, because the process may be interrupted between two clocks. */
  function look(): Look {
    let best: Look | undefined;
    for (let looks = 0; looks < mostLooks; looks += 1) {
      const from = monotonic();
      const up = uptime();
      const wallMs = wall();
      const to = monotonic();
      if (up % coarseMs !== 0) granularityMs = fineMs;
      if (best === undefined || to - from < best.to - best.from) best = { from, to, uptime: up, wallLead: wallMs - to };
      if (to - from <= quickLookMs) break;
    }
    return best as Look;
  }
}

/** The machine's clocks, in milliseconds. */
export interface TimeSources {
  /** Never goes back, and on Linux stands still while the machine sleeps: performance.now. */
  readonly monotonic: () => number;
  /** Cheap, in whole milliseconds. It continues while the machine sleeps, and any program may set it: Date.now. */
  readonly wall: () => number;
  /**
   * Continues while the machine sleeps, and costs a system call: os.uptime, which Linux gives in hundredths of a
   * second, other systems in whole seconds.
   */
  readonly uptime: () => number;
}

/** The three clocks at about one time: at some time between `from` and `to` on the monotonic clock. */
interface Look {
  readonly from: number;
  readonly to: number;
  /** Truncated to its granularity: the true value may be larger by up to that. */
  readonly uptime: number;
  /**
   * The lead of the wall clock over the monotonic clock. NTP slews both alike, so the lead changes only when the
   * machine sleeps or the wall clock is set.
   */
  readonly wallLead: number;
}

/**
 * The largest move of the wall clock that needs no look. A session counts as lost a tenth of its timeout early; even
 * for a timeout of 300 ms that is more than an undetected sleep. The value is also more than twice the fine
 * granularity, so that the uptime can confirm a sleep that has moved the wall clock this far.
 */
const shortestSleepMs = 25;

/**
 * The wall clock has whole milliseconds. Without this, each call would look again at a jump that only one of two
 * comparisons shows.
 */
const roundingMs = 2;

const fineMs = 10;

const coarseMs = 1_000;

/** Two looks with a larger uncertainty than this cannot distinguish a sleep from a wall clock that was set. */
const blurredMs = 50;

const quickLookMs = 2;

const mostLooks = 8;

/** The time for which the machine slept: the jump of the wall clock, within the bounds that the uptime sets. */
function sleptBetween(before: Look, after: Look, granularityMs: number): number {
  const uptimeMs = after.uptime - before.uptime;
  const atLeast = uptimeMs - granularityMs - (after.to - before.from);
  const atMost = uptimeMs + granularityMs - (after.from - before.to);
  // Without this line, a wall clock that is set would count as a sleep of up to the granularity.
  if (atLeast <= 0 && atMost - atLeast <= blurredMs) return 0;
  const jumpMs = after.wallLead - before.wallLead;
  return Math.max(0, atLeast, Math.min(jumpMs, atMost));
}

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
