import type { Scenario } from './peers/peer.ts';
import type { PeerName } from './results.ts';

export const scenarios: readonly Scenario[] = [
  { name: 'solo', owners: 1, sessions: 1, locks: 1 },
  { name: 'spread 64', owners: 64, sessions: 1, locks: 64 },
  { name: 'hand-off 8', owners: 8, sessions: 8, locks: 1 },
  { name: 'hand-off 64', owners: 64, sessions: 64, locks: 1 },
  { name: 'threads 64', owners: 64, sessions: 1, locks: 1 },
  { name: 'threads 512', owners: 512, sessions: 1, locks: 1 },
  { name: 'readers 64', kind: 'readers', owners: 64, sessions: 8, locks: 1 },
  { name: 'leases 64', kind: 'leases', owners: 64, sessions: 8, locks: 1 },
  ...(['1 ms links', '5 ms links', 'ensemble'] as const).flatMap((place): Scenario[] => [
    { name: `solo, ${place}`, owners: 1, sessions: 1, locks: 1, place },
    { name: `hand-off 8, ${place}`, owners: 8, sessions: 8, locks: 1, place },
  ]),
  { name: 'spread 64, ensemble', owners: 64, sessions: 1, locks: 64, place: 'ensemble' },
];

/**
 * Only this library runs 512 threads on one lock. Readers and leases have no raw requests to compare with. redlock and
 * etcd3 have one kind of lock, and their waiters do not queue: 64 of them on one lock measure how often they ask.
 */
export function takesPart(peer: PeerName, { name, kind = 'mutex', owners, locks }: Scenario): boolean {
  if (name === 'threads 512') return peer === 'ours';
  if (peer === 'etcd3' || peer.startsWith('redlock')) return kind === 'mutex' && owners / locks <= 8;
  return kind === 'mutex' || peer !== 'raw';
}

/**
 * The scenario of the raw requests if it has another name: many owners in one process are as many pairs of requests in
 * flight.
 */
export const rawOf: Readonly<Record<string, string>> = { 'threads 64': 'spread 64', 'threads 512': 'spread 64' };

/** `--brief` leaves out what takes long, and what differs from another scenario only by the delay. */
export function isBriefScenario({ name, place = 'loopback', owners }: Scenario): boolean {
  return (place === 'loopback' && name !== 'hand-off 8' && owners <= 512) || place === '5 ms links';
}

export const growth: Readonly<Record<'waiters' | 'sessions', readonly Scenario[]>> = {
  waiters: [1, 8, 64, 512, 4_096].map((owners) => ({ name: `${owners} waiters`, owners, sessions: 1, locks: 1 })),
  sessions: [1, 2, 4, 8, 16, 32, 64, 128].map((sessions) => ({
    name: `${sessions} sessions`,
    owners: sessions,
    sessions,
    locks: 1,
  })),
};
