/** What one run of a scenario came to. */
export interface Outcome {
  readonly cycles: number;
  /** Those included that came before and after the time. @default cycles */
  readonly cyclesInAll?: number;
  readonly tookMs: number;
  /** CPU time of the peer's process, the server's not included. */
  readonly cpuMs: number;
  /** From the call of release to the next holder's first line, where both are in one process; milliseconds. */
  readonly handOversMs?: readonly number[];
  /** Cycles of each owner. */
  readonly perOwner?: readonly number[];
  /** How long each time the writer among the readers waited to be let in, in milliseconds. */
  readonly writerWaitsMs?: readonly number[];
}

/** `owners` of `sessions` sessions contend for `locks` locks, spread evenly. */
export interface Scenario {
  readonly name: string;
  /**
   * `readers`: all owners read, and one more writes, {@link writerPauseMs} after it wrote. `leases`: of a semaphore of
   * {@link maxLeases}. @default 'mutex'
   */
  readonly kind?: 'mutex' | 'readers' | 'leases';
  readonly owners: number;
  readonly sessions: number;
  readonly locks: number;
}

export interface Peer {
  /** Opens what the scenario needs; what it calls is run once untimed, then as often as fits into the time. */
  run(scenario: Scenario, durationMs: number): Promise<Outcome>;
  close(): Promise<void>;
}

export const writerPauseMs = 50;
export const maxLeases = 3;

/**
 * Runs as many loops of cycles as there are owners. What counts begins when each of them has been served once, and ends
 * after that long: with thousands of owners
 * the way there, and the way home, are as long as all between. `cycle` says when it let go and when it was let in.
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
  await Promise.race([allServed, loops]);
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
