/** What one run of a scenario came to. */
export interface Outcome {
  readonly cycles: number;
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
  /** `readers`: all owners read, and one more writes, {@link writerPauseMs} after it wrote. `leases`: of a semaphore of {@link maxLeases}. @default 'mutex' */
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

/** Runs as many loops of cycles as there are owners, for that long. `cycle` says when it let go and when it was let in. */
export async function timed(scenario: Scenario, durationMs: number, cycle: (owner: number) => Promise<void>): Promise<Outcome & { perOwner: number[] }> {
  const perOwner = Array.from({ length: scenario.owners }, () => 0);
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  const until = startedAt + durationMs;
  await Promise.all(
    perOwner.map(async (_, owner) => {
      while (performance.now() < until) {
        await cycle(owner);
        // A cycle that ends after the time is another round's.
        if (performance.now() <= until) perOwner[owner] = (perOwner[owner] ?? 0) + 1;
      }
    }),
  );
  const { user, system } = process.cpuUsage(cpu);
  return { cycles: perOwner.reduce((a, b) => a + b, 0), tookMs: durationMs, cpuMs: (user + system) / 1_000, perOwner };
}
