import type { Role } from '../../lab/judge/history.ts';
import { claimOf, takenAt, toldAt, type Claim } from '../../lab/judge/claim.ts';
import { grouped, type Granted, type History, type Incarnation } from '../../lab/judge/folded-history.ts';
import { crowds } from '../../lab/judge/leases.ts';
import { mayMeet } from '../../lab/judge/owner.ts';
import { pairsInOrder } from './order.ts';
import { standstills } from './progress.ts';
import { overtakes } from '../../lab/judge/weights.ts';

export interface Figures {
  readonly grants: number;
  readonly reEntries: number;
  readonly refusals: number;
  /** The grants to a process of this library that had held nothing for 1.5 session timeouts. */
  readonly afterRest: number;
  readonly grantsOfPeers: number;
  /** From a peer to this library, and back. */
  readonly handOversWithPeers: number;
  /** The number of losses by reason. */
  readonly losses: Readonly<Record<string, number>>;
  readonly writesAccepted: number;
  readonly writesRefused: number;
  /** The most readers that were valid at the same moment. */
  readonly readersTogether: number;
  readonly leasesTogether: number;
  /** Reads acquired by an owner that was writing. */
  readonly downgrades: number;
  /** The pairs of calls whose order was checked. */
  readonly pairsInOrder: number;
  /** Waiters that a later one overtook because of its weight. */
  readonly overtakes: number;
  /** The overtakes after which no waiter of that weight may overtake the same waiter again. */
  readonly lastOvertakes: number;
  /** The most overtakes of a single waiter. */
  readonly mostOvertakes: number;
  /** From a healed fault to the next grant on a path with a waiter, while no further fault happened. */
  readonly longestStandstillMs: number | undefined;
  /**
   * From the owner's notice of a loss to the next grant on its path that had to wait for it. Counts only code that was
   * running and whose znode no third party deleted.
   */
  readonly smallestMarginMs: number | undefined;
  /** From a third party's deletion to the loser's notice of it. */
  readonly slowestNewsMs: number | undefined;
  readonly faults: Readonly<Record<string, number>>;
}

export function figuresOf(history: History): Figures {
  const { acquires, registered, faults } = history;
  const grants = [...history.grants.values()].flat();
  const lost = grants.filter((grant) => grant.lost);
  const overtaken = overtakes(history);
  const accepted = registered.filter((entry) => entry.accepted).length;
  const standstillsMs = standstills(history)
    .filter(({ grantedAt, quietUntil }) => grantedAt <= quietUntil)
    .map(({ from, grantedAt }) => grantedAt - from);
  return {
    grants: grants.length,
    reEntries: grants.length - new Set(grants.map(({ granted }) => granted.hold)).size,
    refusals: acquires.filter(({ refused }) => refused).length,
    afterRest: afterRest(history),
    grantsOfPeers: grants.filter(isOfPeer).length,
    handOversWithPeers: [...history.grants.values()].flatMap((onPath) =>
      onPath.filter((grant, index) => isOfPeer(grant) !== isOfPeer(onPath[index - 1] ?? grant)),
    ).length,
    losses: count(lost, ({ lost }) => lost?.reason ?? ''),
    writesAccepted: accepted,
    writesRefused: registered.length - accepted,
    readersTogether: together(history.run.paths, history, 'reader'),
    leasesTogether: together(Object.keys(history.run.leases ?? {}), history, 'lease'),
    downgrades: grants.filter(({ kind, role }) => kind === 'downgrade' && role === 'reader').length,
    pairsInOrder: pairsInOrder(history).length,
    overtakes: overtaken.length,
    lastOvertakes: overtaken.filter(({ timesBefore, allowed }) => timesBefore + 1 === allowed).length,
    mostOvertakes: most(overtaken.map(({ timesBefore }) => timesBefore + 1)) ?? 0,
    longestStandstillMs: most(standstillsMs),
    smallestMarginMs: least(lost.flatMap((grant) => margin(grant, history))),
    slowestNewsMs: most(lost.flatMap((grant) => news(grant, history))),
    faults: count(faults, ({ kind }) => kind),
  };
}

function afterRest({ grants, run }: History): number {
  const ours = [...grants.values()].flat().filter((grant) => !isOfPeer(grant));
  ours.sort((a, b) => a.granted.t - b.granted.t);
  const heldUntil = new Map<Incarnation, number>();
  return ours.filter(({ incarnation, granted, lost, released }) => {
    const before = heldUntil.get(incarnation);
    heldUntil.set(incarnation, Math.max(before ?? 0, lost?.t ?? released?.t ?? Infinity));
    return before !== undefined && granted.t >= before + 1.5 * run.sessionTimeoutMs;
  }).length;
}

function isOfPeer({ incarnation }: Granted): boolean {
  return incarnation.isPeer;
}

function margin(grant: Granted, history: History): number[] {
  const told = toldAt(grant);
  if (claimOf(grant, history).to !== told) return [];
  const next = history.grants
    .get(grant.path)
    ?.find((other) => other.granted.token > grant.granted.token && !mayMeet(other, grant));
  return next ? [next.granted.t - told] : [];
}

function together(paths: readonly string[], history: History, role: Role): number {
  const isOfRole = ({ acquire }: Claim): boolean => acquire.role === role;
  return most(paths.flatMap((path) => crowds(path, history).map((crowd) => crowd.filter(isOfRole).length))) ?? 0;
}

function news(grant: Granted, history: History): number[] {
  const [taken, told] = [takenAt(grant, history), toldAt(grant)];
  return taken !== undefined && claimOf(grant, history).to === taken ? [told - taken] : [];
}

function count<T>(items: readonly T[], keyOf: (item: T) => string): Record<string, number> {
  return Object.fromEntries([...grouped(items, keyOf)].map(([key, { length }]) => [key, length]));
}

function most(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((a, b) => Math.max(a, b));
}

function least(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((a, b) => Math.min(a, b));
}
