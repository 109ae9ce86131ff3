/** Clocks of the machine, in milliseconds. */
export interface TimeSources {
  /** Never goes back, and on Linux stands still while the machine sleeps: performance.now. */
  readonly monotonic: () => number;
  /** Cheap, runs on while the machine sleeps, and may be set by anybody: Date.now. */
  readonly wall: () => number;
  /** Runs on while the machine sleeps, coarse, and costs a system call: os.uptime. */
  readonly uptime: () => number;
}

const wallJumpMs = 1_000;
const shortestSleepMs = 1_500;

/**
 * Monotonic milliseconds that count the time too for which the machine slept: the servers' clocks ran on, and have expired what nobody kept
 * alive. Sleep is what `uptime` runs ahead by; it is asked only when the wall clock has jumped, which a sleep always makes it do.
 */
export function sleeplessTime({ monotonic, wall, uptime }: TimeSources): () => number {
  const awakeSince = uptime() - monotonic();
  let wallLead = wall() - monotonic();
  let sleptMs = 0;
  return () => {
    const now = monotonic();
    const lead = wall() - now;
    if (Math.abs(lead - wallLead) > wallJumpMs) {
      wallLead = lead;
      const aheadMs = uptime() - now - awakeSince;
      if (aheadMs > Math.max(sleptMs, shortestSleepMs)) sleptMs = aheadMs;
    }
    return now + sleptMs;
  };
}
