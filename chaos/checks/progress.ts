import { claimsOf, type Claim } from '../../lab/judge/claim.ts';
import { grouped, type Acquire, type History, type Incarnation } from '../../lab/judge/folded-history.ts';
import { moment, seconds, type Violation } from '../../lab/judge/violation.ts';

/** From a healed fault, or from the end of the holds that outlasted the fault, to the next grant. */
export interface Standstill {
  readonly path: string;
  readonly fault: string;
  readonly from: number;
  /** Infinity if no grant followed. */
  readonly grantedAt: number;
  /** The acquires that waited all the time. */
  readonly waiters: readonly Acquire[];
  /** When the next fault began, or the run ended. Later times cannot be compared. */
  readonly quietUntil: number;
}

/**
 * A path that has waiters and room for them, but no grant, for one session timeout plus two seconds without a fault
 * after a fault was healed.
 */
export function progress(history: History): Violation[] {
  const windowMs = history.run.sessionTimeoutMs + 2_000;
  return standstills(history).flatMap(({ path, fault, from, grantedAt, waiters, quietUntil }) => {
    const until = from + windowMs;
    const stillWaiting = waiters.filter((waiter) => settledAt(waiter) > until);
    if (grantedAt <= until || quietUntil < until || stillWaiting.length === 0) return [];
    const text = `nothing was granted on ${path} for ${seconds(windowMs)} from ${moment(history, from)} on, after ${fault} was healed, with ${stillWaiting.length} waiting`;
    return [{ check: 'progress', t: until, text, ids: stillWaiting.slice(0, 3).map(({ id }) => id) }];
  });
}

/** One for each fault that was followed by a quiet time, and for each path that then had a waiter. */
export function standstills(history: History): Standstill[] {
  const { run, faults, acquires, grants, lastAt } = history;
  const calls = grouped(acquires, ({ path }) => path);
  return run.paths.flatMap((path) => {
    const claims = occupations(path, history);
    const room = roomBeside(path, history);
    return faults.flatMap(({ fault, kind, target, healedAt }) => {
      if (faults.some((other) => other.beganAt <= healedAt && other.healedAt > healedAt)) return [];
      const quietUntil = Math.min(
        lastAt,
        ...faults.filter(({ beganAt }) => beganAt > healedAt).map(({ beganAt }) => beganAt),
      );
      const from = freeAt(claims, healedAt, room);
      const waiters = (calls.get(path) ?? []).filter(
        (call) => !call.incarnation.isPeer && call.calledAt <= from && settledAt(call) > from,
      );
      if (waiters.length === 0) return [];
      const grantedAt = grants.get(path)?.find(({ granted }) => granted.t > from)?.granted.t ?? Infinity;
      return [{ path, fault: `${fault} (${kind} ${target})`, from, grantedAt, waiters, quietUntil }];
    });
  });
}

/**
 * The times during which other clients have to wait: the claims of this library's clients; for a peer also the time
 * during which it goes on although it has lost the lock. Ordered by time.
 */
function occupations(path: string, history: History): Claim[] {
  return claimsOf(path, history).map((claim) => {
    const { incarnation, released } = claim.acquire;
    return incarnation.isPeer
      ? { ...claim, to: Math.max(claim.to, released?.t ?? goneAt(incarnation) ?? history.lastAt) }
      : claim;
  });
}

/** No call asks a semaphore for more than two leases. */
const mostWanted = 2;

/** The number of holds that may exist while there is still room for every waiter. */
function roomBeside(path: string, { run }: History): number {
  return Math.max(0, (run.leases?.[path] ?? 0) - mostWanted);
}

/**
 * The time at which enough of the holds that existed at `t` had ended, together with re-entries and holds that began
 * meanwhile.
 */
function freeAt(claims: readonly Claim[], t: number, room: number): number {
  let free = t;
  let open: Claim[] = [];
  const makeRoom = (until: number): void => {
    while (open.length > room && free < until) {
      free = Math.min(...open.map(({ to }) => to));
      open = open.filter(({ to }) => to > free);
    }
  };
  for (const claim of claims) {
    makeRoom(claim.from);
    if (claim.from > free) return free;
    if (claim.to > free) open.push(claim);
  }
  makeRoom(Infinity);
  return free;
}

/** A killed process waits no longer. */
function settledAt({ granted, refused, incarnation }: Acquire): number {
  return granted?.t ?? refused?.t ?? goneAt(incarnation) ?? Infinity;
}

function goneAt({ killedAt, leftAt, succeededAt }: Incarnation): number | undefined {
  return killedAt ?? leftAt ?? succeededAt;
}
