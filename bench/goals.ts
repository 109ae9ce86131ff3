import type { PeerName, Results, Summary } from './results.ts';
import { rawOf } from './scenarios.ts';

/** A ratio that this library shall reach: its figure divided by the figure of another peer in the same run. */
export interface Goal {
  readonly scenario: string;
  /** `speed`: cycles a second, at least `bound`. `cpu`: CPU time a cycle, at most `bound`. */
  readonly figure: 'speed' | 'cpu';
  readonly against: 'curator' | 'raw';
  readonly bound: number;
}

export interface Verdict extends Goal {
  readonly reached: number;
  /** The ratio of the raw requests, which the library cannot pass by much. */
  readonly limit: number;
  readonly isMet: boolean;
}

export const goals: readonly Goal[] = [
  { scenario: 'hand-off 8, 5 ms links', figure: 'speed', against: 'curator', bound: 1.6 },
  { scenario: 'solo, 5 ms links', figure: 'speed', against: 'curator', bound: 1.45 },
  { scenario: 'solo', figure: 'speed', against: 'curator', bound: 1.3 },
  { scenario: 'solo', figure: 'speed', against: 'raw', bound: 0.9 },
  { scenario: 'spread 64', figure: 'speed', against: 'curator', bound: 1.5 },
  { scenario: 'spread 64', figure: 'speed', against: 'raw', bound: 0.9 },
  { scenario: 'spread 64', figure: 'cpu', against: 'raw', bound: 1.4 },
  { scenario: 'hand-off 64', figure: 'speed', against: 'curator', bound: 1.05 },
  { scenario: 'hand-off 64', figure: 'speed', against: 'raw', bound: 0.9 },
  { scenario: 'hand-off 64', figure: 'cpu', against: 'curator', bound: 0.9 },
  { scenario: 'threads 64', figure: 'speed', against: 'curator', bound: 60 },
  { scenario: 'threads 64', figure: 'speed', against: 'raw', bound: 0.85 },
  { scenario: 'threads 512', figure: 'speed', against: 'raw', bound: 0.75 },
];

/** The goals whose scenario and peer were measured. */
export function judge({ scenarios }: Pick<Results, 'scenarios'>): Verdict[] {
  return goals.flatMap((goal) => {
    const figure = (peer: PeerName): number | undefined => figureOf(scenarios, goal, peer);
    const [ours, theirs, raw] = [figure('ours'), figure(goal.against), figure('raw')];
    if (ours === undefined || theirs === undefined || raw === undefined) return [];
    const reached = ours / theirs;
    const isMet = goal.figure === 'speed' ? reached >= goal.bound : reached <= goal.bound;
    return [{ ...goal, reached, limit: raw / theirs, isMet }];
  });
}

function figureOf(scenarios: Results['scenarios'], goal: Goal, peer: PeerName): number | undefined {
  const name = peer === 'raw' ? (rawOf[goal.scenario] ?? goal.scenario) : goal.scenario;
  const summary: Summary | undefined = scenarios[name]?.[peer];
  return goal.figure === 'speed' ? summary?.cyclesPerSecond : summary?.cpuMicrosPerCycle;
}
