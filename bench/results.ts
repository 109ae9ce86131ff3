import type { StickyResults } from './sticky.ts';
import type { summary } from './measure.ts';

export type PeerName = 'ours' | 'curator' | 'raw' | 'redlock always' | 'redlock everysec' | 'etcd3';
export type Summary = ReturnType<typeof summary>;

/** The result of one run of the benchmark, as `bench/results` keeps it. */
export interface Results {
  readonly date: string;
  readonly machine: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly rounds: number;
  readonly secondsOfRun: number;
  readonly loadBefore: number;
  /** The reason why a peer was not measured. */
  readonly skipped: Readonly<Record<string, string>>;
  readonly scenarios: Readonly<Record<string, Partial<Record<PeerName, Summary>>>>;
  /** Absent if only some scenarios were measured. */
  readonly more?: MoreResults;
}

/** The figures that only this library has. */
export interface MoreResults {
  readonly growth: Readonly<
    Record<'waiters' | 'sessions', readonly { readonly name: string; readonly ours: Summary }[]>
  >;
  readonly sticky: StickyResults;
  readonly heapBytesPerWaiter: number;
}

export const titles: Readonly<Record<PeerName, string>> = {
  ours: 'zookeeper-fair-lock',
  curator: 'Java Curator',
  raw: 'raw requests',
  'redlock always': 'redlock, appendfsync always',
  'redlock everysec': 'redlock, appendfsync everysec',
  etcd3: 'etcd3',
};

export const peerNames = Object.keys(titles) as readonly PeerName[];

export function speedOf(results: Results, scenario: string, peer: PeerName): number | undefined {
  return results.scenarios[scenario]?.[peer]?.cyclesPerSecond;
}
