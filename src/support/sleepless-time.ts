/**
 * Monotonic milliseconds that count the time too for which the machine slept: the servers' clocks ran on, and have
 * expired what nobody kept alive. `uptime` says
 * that it slept, and the wall clock for how long; `uptime` is asked only when the wall clock has jumped, which a sleep
 * always makes it do.
 *
 * Where `uptime` comes in whole seconds it cannot tell a short sleep from a wall clock that was set forward. That
 * counts as sleep then, up to two seconds: a deadline may
 * come too early, and never too late.
 */
export function sleeplessTime({ monotonic, wall, uptime }: TimeSources): () => number {
  let granularityMs = coarseMs;
  let sleptMs = 0;
  let last = look();
  return () => {
    const now = monotonic();
    if (Math.abs(wall() - now - last.wallLead) > shortestSleepMs) {
      const next = look();
      const moreMs = sleptBetween(last, next, granularityMs);
      sleptMs += moreMs;
      // Sleeps that are too short to be told add up, until they are long enough.
      last = moreMs > 0 ? next : { ...last, wallLead: next.wallLead };
    }
    return now + sleptMs;
  };

  /** The quickest of a few: the process may be kept waiting between two clocks. */
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

/** Clocks of the machine, in milliseconds. */
export interface TimeSources {
  /** Never goes back, and on Linux stands still while the machine sleeps: performance.now. */
  readonly monotonic: () => number;
  /** Cheap, whole milliseconds, runs on while the machine sleeps, and may be set by anybody: Date.now. */
  readonly wall: () => number;
  /**
   * Runs on while the machine sleeps, and costs a system call: os.uptime, which Linux gives in hundredths of a second,
   * or else in whole seconds.
   */
  readonly uptime: () => number;
}

/** The three clocks at about one time: somewhere between `from` and `to` on the monotonic one. */
interface Look {
  readonly from: number;
  readonly to: number;
  /** Cut off to its granularity: it may be as much more. */
  readonly uptime: number;
  /**
   * What the wall clock is ahead of the monotonic one. NTP slews both alike, so only a sleep or somebody who sets it
   * changes that.
   */
  readonly wallLead: number;
}

/**
 * How far the wall clock may move without a look. A session counts as over a tenth of its timeout early: of 300 ms that
 * is more than a sleep that goes unseen. And it is
 * more than twice the fine granularity, so that the uptime can tell a sleep which has moved the wall clock this far.
 */
const shortestSleepMs = 25;

const fineMs = 10;

const coarseMs = 1_000;

/** Two looks that leave more than this open cannot tell a sleep from a wall clock that was set. */
const blurredMs = 50;

const quickLookMs = 2;

const mostLooks = 4;

/** For how long the machine slept: as the wall clock says, within the bounds that the uptime sets. */
function sleptBetween(before: Look, after: Look, granularityMs: number): number {
  const uptimeMs = after.uptime - before.uptime;
  const atLeast = uptimeMs - granularityMs - (after.to - before.from);
  const atMost = uptimeMs + granularityMs - (after.from - before.to);
  // Without this a wall clock that somebody sets would count as a sleep of up to the granularity.
  if (atLeast <= 0 && atMost - atLeast <= blurredMs) return 0;
  const jumpMs = after.wallLead - before.wallLead;
  return Math.max(0, atLeast, Math.min(jumpMs, atMost));
}
