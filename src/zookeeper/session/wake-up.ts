import { divisors } from '../network/timeout-parts.js';
import { isProven, overdueAt, type Life } from './life.js';

/** The answer that is due on the connection. */
export interface Owed {
  /** The time since which the server owes an answer; undefined if it owes none. */
  readonly owedSince: number | undefined;
}

/**
 * The same life, whose next tick is early enough to notice what is due next: a pulse, a silent server, or the end. If a
 * tick comes too early, it sets the time of the next one.
 */
export function watched(before: Life, owed: Owed, now: number): Life {
  if (before.state.at === 'ended' || before.epoch === 0) return before;
  const life = stallNoted(before, now);
  const dueAt = nextDueAt(life, owed, now);
  return dueAt < life.wakeAt ? { ...life, wakeAt: Math.max(dueAt, now) } : life;
}

/** The session has no further tick. */
export function asleep(life: Life, now: number): Life {
  return { ...stallNoted(life, now), wakeAt: Infinity };
}

/**
 * How long this process did not run just now, because it was stopped or its event loop was blocked; in milliseconds.
 * Undefined if it ran.
 */
export function stalledMs(life: Life, now: number): number | undefined {
  const { stall, proof } = stallNoted(life, now);
  return stall && now - stall.endedAt < proof.timeoutMs / divisors.stall ? stall.forMs : undefined;
}

/** True if the connection is to be given up. */
export function isSilent(life: Life, owed: Owed, now: number): boolean {
  return owed.owedSince !== undefined && now >= silentAt(life, owed.owedSince);
}

/**
 * The time at which a connection is given up unless the server answers.
 *
 * While a lock is held, the oldest request may be unanswered for a quarter of the timeout, otherwise for two thirds. And
 * while no lock is held, two thirds of the timeout may pass since the newest answered request or ping was sent: then the
 * last third is left for the other servers, and the waiters keep their places. A request that was sent late, because the
 * process did not run, gets a sixth.
 */
export function silentAt(life: Life, owedSince: number): number {
  const { terms, answeredSentAt } = life;
  const { timeoutMs } = life.proof;
  const isUrgent = life.holds > 0 || life.state.at === 'closing';
  const longestMs = timeoutMs / divisors.silence;
  const usual = isUrgent
    ? owedSince + timeoutMs / divisors.silenceWithHold
    : Math.min(
        owedSince + longestMs,
        Math.max(answeredSentAt + longestMs, owedSince + timeoutMs / divisors.lateRequest),
      );
  // A server that grants a session and then keeps silent must leave half of the time to connect for the other servers.
  // The last of the servers gets all of it. Otherwise a server whose first write is slow would never get an answer through.
  const isLast = life.epoch >= terms.hosts;
  const leftMs = isProven(life) || isLast ? 0 : terms.connectBy - owedSince;
  return leftMs > 0 ? Math.min(usual, owedSince + leftMs / 2) : usual;
}

function nextDueAt(life: Life, { owedSince }: Owed, now: number): number {
  const { state } = life;
  if (state.at === 'closing') return owedSince === undefined ? Infinity : silentAt(life, owedSince);
  const dueAt = overdueAt(life);
  return state.at === 'connected' ? Math.min(silentAt(life, owedSince ?? now), dueAt, state.pulseAt) : dueAt;
}

/** Must be used before the time of the next tick changes. */
function stallNoted(life: Life, now: number): Life {
  const forMs = now - life.wakeAt;
  return forMs >= life.proof.timeoutMs / divisors.stall ? { ...life, stall: { forMs, endedAt: now } } : life;
}
