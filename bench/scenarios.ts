import type { Scenario } from './peers/peer.ts';
import type { PeerName } from './results.ts';

/** The figure and the peer that a scenario of this library is compared with. */
export interface Goal {
  readonly scenario: string;
  readonly againstCurator?: number;
  readonly againstRaw?: number;
}

export const scenarios: readonly Scenario[] = [
  { name: 'solo', owners: 1, sessions: 1, locks: 1 },
  { name: 'spread 64', owners: 64, sessions: 1, locks: 64 },
  { name: 'hand-off 64', owners: 64, sessions: 64, locks: 1 },
  { name: 'threads 64', owners: 64, sessions: 1, locks: 1 },
  { name: 'threads 512', owners: 512, sessions: 1, locks: 1 },
  { name: 'readers 64', kind: 'readers', owners: 64, sessions: 8, locks: 1 },
  { name: 'leases 64', kind: 'leases', owners: 64, sessions: 8, locks: 1 },
];

export const goals: readonly Goal[] = [
  { scenario: 'solo', againstCurator: 1.3, againstRaw: 0.9 },
  { scenario: 'spread 64', againstCurator: 1.7, againstRaw: 0.85 },
  { scenario: 'hand-off 64', againstCurator: 2, againstRaw: 0.9 },
  { scenario: 'threads 64', againstCurator: 60, againstRaw: 0.8 },
  { scenario: 'threads 512', againstRaw: 0.75 },
  { scenario: 'readers 64' },
  { scenario: 'leases 64' },
];

/** Only this library runs 512 threads on one lock. Readers and leases have no raw requests to compare with. */
export function takesPart(peer: PeerName, { name, kind = 'mutex' }: Scenario): boolean {
  if (name === 'threads 512') return peer === 'ours';
  return kind === 'mutex' || peer !== 'raw';
}

/**
 * The scenario of the raw requests if it has another name: many owners in one process are as many pairs of requests in
 * flight.
 */
export const rawOf: Readonly<Record<string, string>> = { 'threads 64': 'spread 64', 'threads 512': 'spread 64' };

export const growth: Readonly<Record<'waiters' | 'sessions', readonly Scenario[]>> = {
  waiters: [1, 8, 64, 512, 4_096].map((owners) => ({ name: `${owners} waiters`, owners, sessions: 1, locks: 1 })),
  sessions: [1, 2, 4, 8, 16, 32, 64, 128].map((sessions) => ({
    name: `${sessions} sessions`,
    owners: sessions,
    sessions,
    locks: 1,
  })),
};
