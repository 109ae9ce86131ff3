import { claimsOf, type Claim } from './claim.ts';
import { grouped, type Acquire, type History, type Incarnation } from './folded-history.ts';
import { moment, seconds, type Violation } from './violation.ts';

/** From a healed fault, or from the end of the holds that outlasted it, to the next grant. */
export interface Standstill {
  readonly path: string;
  readonly fault: string;
  readonly from: number;
  /** Infinity when there was none any more. */
  readonly grantedAt: number;
  /** Who waited all the time. */
  readonly waiters: readonly Acquire[];
  /** When the next fault began, or the run ended: what comes later is not comparable. */
  readonly quietUntil: number;
}

/**
 * A path with waiters and room for them, and without a grant, for a session timeout and two seconds of peace after a
 * fault was healed.
 */
export function progress(history: History): Violation[] {
  const windowMs = history.run.sessionTimeoutMs + 2_000;
  return standstills(history).flatMap(({ path, fault, from, grantedAt, waiters, quietUntil }) => {
    const until = from + windowMs;
    const patient = waiters.filter((waiter) => settledAt(waiter) > until);
    if (grantedAt <= until || quietUntil < until || patient.length === 0) return [];
    const text = `nothing was granted on ${path} for ${seconds(windowMs)} after ${moment(history, from)}, ${fault} being healed, with ${patient.length} waiting`;
    return [{ check: 'progress', t: until, text, ids: patient.slice(0, 3).map(({ id }) => id) }];
  });
}

/** One for each fault after which there was peace, and each path on which somebody waited then. */
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
 * What keeps others waiting: of ours, their claims; of a peer, also what it goes on with, told or not. In the order of
 * time.
 */
function occupations(path: string, history: History): Claim[] {
  return claimsOf(path, history).map((claim) => {
    const { incarnation, released } = claim.acquire;
    return incarnation.isPeer
      ? { ...claim, to: Math.max(claim.to, released?.t ?? goneAt(incarnation) ?? history.lastAt) }
      : claim;
  });
}

/** Who wants the most leases of a semaphore wants two. */
const mostWanted = 2;

/** Beside how many holds there is room for whoever waits. */
function roomBeside(path: string, { run }: History): number {
  return Math.max(0, (run.leases?.[path] ?? 0) - mostWanted);
}

/** When enough of the holds that were there at the time were over, with whoever re-entered them or came meanwhile. */
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

/** Who is killed waits no longer. */
function settledAt({ granted, refused, incarnation }: Acquire): number {
  return granted?.t ?? refused?.t ?? goneAt(incarnation) ?? Infinity;
}

function goneAt({ killedAt, leftAt, succeededAt }: Incarnation): number | undefined {
  return killedAt ?? leftAt ?? succeededAt;
}
