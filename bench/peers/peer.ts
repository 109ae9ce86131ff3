import type { Place } from '../places.ts';

/** The result of one run of a scenario. */
export interface Outcome {
  readonly cycles: number;
  /** Includes the cycles before and after the measured time. @default cycles */
  readonly cyclesInAll?: number;
  readonly tookMs: number;
  /** The CPU time of the peer's process, without the server's. */
  readonly cpuMs: number;
  /** Milliseconds from the call of release to the first line of the next holder. Only if both are in one process. */
  readonly handOversMs?: readonly number[];
  /** The cycles of each owner. */
  readonly perOwner?: readonly number[];
  /** Milliseconds that the writer among the readers waited for each of its grants. */
  readonly writerWaitsMs?: readonly number[];
}

/** `owners` owners in `sessions` sessions contend for `locks` locks, spread evenly. */
export interface Scenario {
  readonly name: string;
  /**
   * `readers`: all owners read, and one more owner writes, {@link writerPauseMs} after its previous write. `leases`:
   * the permits of a semaphore of {@link maxLeases}. @default 'mutex'
   */
  readonly kind?: 'mutex' | 'readers' | 'leases';
  readonly owners: number;
  readonly sessions: number;
  readonly locks: number;
  /** @default 'loopback' */
  readonly place?: Place;
}

export interface Peer {
  /**
   * Opens the connections and locks that the scenario needs. Runs the cycles once untimed, then as often as they fit
   * into the time.
   */
  run(scenario: Scenario, durationMs: number): Promise<Outcome>;
  close(): Promise<void>;
}

export const writerPauseMs = 50;
export const maxLeases = 3;

/** The measured time begins after this time even if an owner was not served yet: not every peer is fair. */
const startLimitMs = 10_000;

/**
 * Runs one loop of cycles per owner. The measured time begins when each owner has been served once, and ends after
 * `durationMs`: with thousands of owners, the start and the end of a run take as long as the part between. `cycle`
 * reports when it released the lock and when it was granted.
 */
export async function timed(
  scenario: Scenario,
  durationMs: number,
  cycle: (owner: number) => Promise<void>,
): Promise<Outcome & { perOwner: number[] }> {
  const perOwner = Array.from({ length: scenario.owners }, () => 0);
  let phase: 'before' | 'counted' | 'after' = 'before';
  let unserved = scenario.owners;
  let served = (): void => undefined;
  const allServed = new Promise<void>((resolve) => (served = resolve));
  let cyclesInAll = 0;
  const loops = Promise.all(
    perOwner.map(async (_, owner) => {
      for (let own = 1; phase !== 'after'; own += 1) {
        await cycle(owner);
        cyclesInAll += 1;
        if (phase === 'counted') perOwner[owner] = (perOwner[owner] ?? 0) + 1;
        if (own === 1 && (unserved -= 1) === 0) served();
      }
    }),
  );
  let limit: NodeJS.Timeout | undefined;
  await Promise.race([allServed, loops, new Promise((resolve) => (limit = setTimeout(resolve, startLimitMs)))]);
  clearTimeout(limit);
  phase = 'counted';
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  await new Promise((resolve) => setTimeout(resolve, durationMs));
  phase = 'after';
  const tookMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  await loops;
  return { cycles: perOwner.reduce((a, b) => a + b, 0), cyclesInAll, tookMs, cpuMs: (user + system) / 1_000, perOwner };
}

/** Measures the hand-overs of a scenario with one lock. `granted` is called right before the release. */
export function handOverTimer({ kind = 'mutex', locks }: Scenario): {
  granted(): void;
  readonly result: Pick<Outcome, 'handOversMs'>;
} {
  const handsOver = kind === 'mutex' && locks === 1;
  const handOversMs: number[] = [];
  let releasedAt: number | undefined;
  return {
    granted() {
      if (!handsOver) return;
      if (releasedAt !== undefined) handOversMs.push(performance.now() - releasedAt);
      releasedAt = performance.now();
    },
    result: handsOver ? { handOversMs } : {},
  };
}
