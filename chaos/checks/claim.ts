import { znodeOf } from '../history.ts';
import type { Fault, Granted, History } from './folded-history.ts';

/** While an owner's code had every reason to believe that it holds the lock. Empty (`to < from`) when it never had. */
export interface Claim {
  readonly acquire: Granted;
  readonly from: number;
  readonly to: number;
}

export function claimsOf(path: string, history: History): Claim[] {
  return (history.grants.get(path) ?? [])
    .map((acquire) => claimOf(acquire, history))
    .filter(({ from, to }) => from <= to);
}

/**
 * From the grant until it was told otherwise: by its signal, by its own release, or by the first look that said no. Two
 * things end a claim
 * earlier, because nothing can tell in time what they do:
 * - Code that does not run is told nothing. What is stopped or killed claims until then, and for as long as it was seen
 *   to be valid: a first
 *   look after a stop that still says yes is held against it.
 * - A third party that deletes the znode, or closes the session, opens the lock to the next one in the same moment. The
 *   claim ends when that
 *   began, if the loser was told, or let go, within two session timeouts.
 *
 * A peer's claim is what the servers have confirmed: Curator believes in a lock for seconds after it was lost, which is
 * no fault of ours, and nothing
 * that others have to respect.
 */
export function claimOf(acquire: Granted, history: History): Claim {
  return acquire.incarnation.isPeer
    ? { acquire, from: acquire.granted.t, to: seenAt(acquire) }
    : claimOfOurs(acquire, history);
}

function claimOfOurs(acquire: Granted, history: History): Claim {
  const from = acquire.granted.t;
  const told = toldAt(acquire);
  const seen = seenAt(acquire);
  const runsUntil = Math.min(stoppedAt(acquire, history, seen), diedAt(acquire, history));
  const to = seen === -Infinity ? seen : Math.max(seen, Math.min(told, runsUntil));
  const taken = takenAt(acquire, history);
  const isToldOfIt = taken !== undefined && Math.min(told, runsUntil) <= taken + 2 * history.run.sessionTimeoutMs;
  return { acquire, from, to: isToldOfIt ? Math.min(to, taken) : to };
}

/** When it was last seen to be valid. */
function seenAt({ observations }: Granted): number {
  return observations.findLast(({ valid }) => valid)?.t ?? -Infinity;
}

/** Infinity if it never was. */
export function toldAt({ lost, releasingAt, observations }: Granted): number {
  return Math.min(
    lost?.t ?? Infinity,
    releasingAt ?? Infinity,
    observations.find(({ valid }) => !valid)?.t ?? Infinity,
  );
}

/** When its znode was taken away by a third party. */
export function takenAt({ granted, incarnation }: Granted, { faults }: History): number | undefined {
  const isTaken = (fault: Fault): boolean =>
    fault.kind === 'delete-znode'
      ? fault.target === znodeOf(granted.hold)
      : fault.kind === 'close-session' && fault.clients.includes(incarnation.client) && granted.t <= fault.healedAt;
  return faults.find((fault) => isTaken(fault))?.beganAt;
}

/** When its code was first stopped and did not look afterwards; it may have been told before that. */
function stoppedAt({ incarnation }: Granted, { faults }: History, seen: number): number {
  const stop = faults.find(
    (fault) => fault.isStopped && fault.clients.includes(incarnation.client) && fault.healedAt >= seen,
  );
  return stop?.beganAt ?? Infinity;
}

/**
 * When its process came to its end, by a fault or by itself; one that died by itself may have done so right after its
 * last sign of life.
 */
function diedAt({ incarnation: { killedAt, leftAt, succeededAt } }: Granted, { lastAt }: History): number {
  return killedAt ?? leftAt ?? (succeededAt === undefined ? lastAt : -Infinity);
}
