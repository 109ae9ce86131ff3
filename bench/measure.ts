import type { Outcome, Peer, Scenario } from './peers/peer.ts';
import type { Service } from './services/service.ts';
import { median, quantile } from './statistics.ts';

/** One run of one peer. */
export interface Run {
  readonly cyclesPerSecond: number;
  readonly cpuMicrosPerCycle: number;
  readonly requestsPerCycle: number;
  readonly bytesPerCycle: number;
  readonly handOverP50Ms?: number;
  readonly handOverP99Ms?: number;
  /** The cycles of the luckiest owner divided by those of the unluckiest. */
  readonly luck?: number;
  /** The median time that the writer among the readers waits for its grant. */
  readonly writerWaitMs?: number;
}

export async function measure(peer: Peer, scenario: Scenario, durationMs: number, service: Service): Promise<Run> {
  const { place = 'loopback' } = scenario;
  const before = await service.traffic(place);
  const outcome = await peer.run(scenario, durationMs);
  const after = await service.traffic(place);
  const { cyclesInAll = outcome.cycles } = outcome;
  return {
    cyclesPerSecond: (outcome.cycles / outcome.tookMs) * 1_000,
    cpuMicrosPerCycle: (outcome.cpuMs * 1_000) / outcome.cycles,
    requestsPerCycle: (after.requests - before.requests) / cyclesInAll,
    bytesPerCycle: (after.bytes - before.bytes) / cyclesInAll,
    ...fairness(outcome),
    ...handOvers(outcome),
    ...writerWait(outcome),
  };
}

const figures = ['cyclesPerSecond', 'cpuMicrosPerCycle', 'requestsPerCycle', 'bytesPerCycle'] as const;
const furtherFigures = ['handOverP50Ms', 'handOverP99Ms', 'luck', 'writerWaitMs'] as const;

/** The median of each figure that was measured, and the spread of the speed. */
export function summary(runs: readonly Run[]): Run & { readonly slowest: number; readonly fastest: number } {
  const values = (figure: keyof Run): number[] => runs.flatMap((run) => run[figure] ?? []);
  const medians = <T extends keyof Run>(names: readonly T[]): Record<T, number> =>
    Object.fromEntries(names.map((name) => [name, median(values(name))])) as Record<T, number>;
  const speeds = values('cyclesPerSecond');
  return {
    ...medians(figures),
    ...medians(furtherFigures.filter((figure) => values(figure).length > 0)),
    slowest: Math.min(...speeds),
    fastest: Math.max(...speeds),
  };
}

function fairness({ perOwner }: Outcome): Pick<Run, 'luck'> {
  if (perOwner === undefined || perOwner.length < 2) return {};
  return { luck: Math.max(...perOwner) / Math.max(1, Math.min(...perOwner)) };
}

function handOvers({ handOversMs = [] }: Outcome): Pick<Run, 'handOverP50Ms' | 'handOverP99Ms'> {
  if (handOversMs.length === 0) return {};
  return { handOverP50Ms: median(handOversMs), handOverP99Ms: quantile(handOversMs, 0.99) };
}

function writerWait({ writerWaitsMs = [] }: Outcome): Pick<Run, 'writerWaitMs'> {
  return writerWaitsMs.length === 0 ? {} : { writerWaitMs: median(writerWaitsMs) };
}
