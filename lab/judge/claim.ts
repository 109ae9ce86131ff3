import { znodeOf } from './history.ts';
import type { Fault, Granted, History } from './folded-history.ts';

/**
 * The time during which an owner's code had every reason to believe that it held the lock. Empty (`to < from`) if it
 * never had.
 */
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
 * Lasts from the grant until the code learned of the end: by its signal, by its own release, or by the first look that
 * found the hold invalid. A claim ends earlier in two cases, because no client can learn of these in time:
 * - Code that does not run cannot learn anything. A stopped or killed process claims the lock until the stop, and for
 *   as long as a later look found the hold valid: such a look is a fault of the library.
 * - A third party that deletes the znode, or closes the session, frees the lock for the next client in the same moment.
 *   The claim ends when that began, provided that the loser learned of it, or released, within two session timeouts.
 *
 * A peer's claim is only the time that the servers have confirmed. Curator believes in a lock for seconds after it was
 * lost: that is not this library's fault, and other clients need not respect it.
 */
export function claimOf(acquire: Granted, history: History): Claim {
  return acquire.incarnation.isPeer
    ? { acquire, from: acquire.granted.t, to: seenAt(acquire) }
    : claimOfOurs(acquire, history);
}

function claimOfOurs(acquire: Granted, history: History): Claim {
  const from = acquire.granted.t;
  const seen = seenAt(acquire);
  const to = seen === -Infinity ? seen : Math.max(seen, knownUntil(acquire, history));
  return { acquire, from, to: Math.min(to, takenAt(acquire, history) ?? Infinity) };
}

/** The last time at which it was seen to be valid. */
function seenAt({ observations }: Granted): number {
  return observations.findLast(({ valid }) => valid)?.t ?? -Infinity;
}

/** Infinity if the owner never learned of the end. */
export function toldAt({ lost, releasingAt, observations }: Granted): number {
  return Math.min(
    lost?.t ?? Infinity,
    releasingAt ?? Infinity,
    observations.find(({ valid }) => !valid)?.t ?? Infinity,
  );
}

/**
 * When a third party took its znode away; undefined if the owner did not learn of it in time. A request to close the
 * session may have failed before one of these took the znode.
 */
export function takenAt(acquire: Granted, history: History): number | undefined {
  const { granted, incarnation } = acquire;
  const { faults, run } = history;
  const until = knownUntil(acquire, history);
  const isTaken = (fault: Fault): boolean =>
    fault.kind === 'delete-znode'
      ? fault.target === znodeOf(granted.hold)
      : fault.kind === 'close-session' &&
        (granted.session === undefined
          ? fault.clients.includes(incarnation.client) && granted.t <= fault.healedAt
          : fault.target === granted.session);
  return faults.find((fault) => isTaken(fault) && until <= fault.beganAt + 2 * run.sessionTimeoutMs)?.beganAt;
}

/** When it learned of the end, was stopped, or died. */
function knownUntil(acquire: Granted, history: History): number {
  const stopped = stoppedAt(acquire, history, seenAt(acquire));
  return Math.min(toldAt(acquire), stopped, diedAt(acquire, history));
}

/** When its process was first stopped and never looked again. It may have learned of the end before that. */
function stoppedAt({ incarnation }: Granted, { faults }: History, seen: number): number {
  const stop = faults.find(
    (fault) => fault.isStopped && fault.clients.includes(incarnation.client) && fault.healedAt >= seen,
  );
  return stop?.beganAt ?? Infinity;
}

/**
 * When its process ended, by a fault or by itself. A process that ended by itself may have died right after its last
 * event.
 */
function diedAt({ incarnation: { killedAt, leftAt, succeededAt } }: Granted, { lastAt }: History): number {
  return killedAt ?? leftAt ?? (succeededAt === undefined ? lastAt : -Infinity);
}
