import { divisors } from '../network/timeout-parts.js';
import { unneeded, type ProofSchedule } from './proof-schedule.js';
import { deadlineOf, unproven, type SessionProof } from './session-clock.js';
import type { SessionEnd } from './session-owner.js';

/** The state of one session in this process, without its connection and its timer. Times are monotonic milliseconds. */
export interface Life extends ProofSchedule {
  readonly terms: Terms;
  readonly state: SessionState;
  /**
   * `dialling`: until the session has another connection. `proving`: until the first heartbeat on it is answered. The
   * state is `connected` meanwhile, unless the session is closed.
   */
  readonly attach: 'none' | 'dialling' | 'proving';
  readonly proof: SessionProof;
  /** 1 while anything is held, else 0. */
  readonly holds: number;
  /** The time when the newest answered request was sent, including pings and ConnectRequests. */
  readonly answeredSentAt: number;
  /** The number of connections that the session has had. */
  readonly epoch: number;
  /** The last connection on which a server has answered a request or a ping. */
  readonly servedEpoch: number;
  /** The time of the next tick, which the timer follows. */
  readonly wakeAt: number;
  /** The last tick that ran much too late, because this process was stopped or its event loop was blocked. */
  readonly stall: Stall | undefined;
}

/** The conditions under which a session was opened. */
export interface Terms {
  /** The servers' tick in milliseconds, if known. */
  readonly tickTimeMs: number | undefined;
  /** The time before which the first server must have answered. */
  readonly connectBy: number;
  readonly hosts: number;
  /** True if the session is attached to only in order to close it. */
  readonly isResumed: boolean;
}

export type SessionState =
  | { readonly at: 'connecting' }
  /**
   * `pulseAt`: the time of the next heartbeat, or of the next sync or ping if the session is quiet. Infinity while a
   * heartbeat is outstanding, and while the session attaches.
   */
  | { readonly at: 'connected'; readonly pulseAt: number }
  | { readonly at: 'suspended' }
  /** Suspended beyond its deadline, without holds. No server has said yet whether the session is alive. */
  | { readonly at: 'overdue' }
  | { readonly at: 'closing' }
  | { readonly at: 'ended'; readonly why: SessionEnd };

interface Stall {
  readonly forMs: number;
  readonly endedAt: number;
}

export function newLife(terms: Terms): Life {
  return {
    terms,
    state: { at: 'connecting' },
    attach: 'none',
    proof: unproven,
    ...unneeded,
    holds: 0,
    answeredSentAt: -Infinity,
    epoch: 0,
    servedEpoch: 0,
    wakeAt: Infinity,
    stall: undefined,
  };
}

/**
 * A copy to change. Written out, because Node 20 takes a microsecond to spread these fields, and a step follows each
 * answer, and each hold of a sticky lock.
 */
export function copyOf(life: Life): { -readonly [Field in keyof Life]: Life[Field] } {
  return {
    terms: life.terms,
    state: life.state,
    attach: life.attach,
    proof: life.proof,
    needs: life.needs,
    neededAt: life.neededAt,
    beatAt: life.beatAt,
    noAttachUntil: life.noAttachUntil,
    holds: life.holds,
    answeredSentAt: life.answeredSentAt,
    epoch: life.epoch,
    servedEpoch: life.servedEpoch,
    wakeAt: life.wakeAt,
    stall: life.stall,
  };
}

/** True if the session has ended, or is being closed. */
export function isOver({ state }: Life): boolean {
  return state.at === 'ended' || state.at === 'closing';
}

/** The ends that only this process knows. */
export const livesOn: ReadonlySet<SessionEnd> = new Set(['lost', 'replaced', 'given-up']);

/** True if the session was given up while the servers may still know it, and nothing needs its znodes any more. */
export function isSettled({ state, holds }: Life): boolean {
  return state.at === 'ended' && livesOn.has(state.why) && holds === 0;
}

/** True if a quorum write of the session was ever answered. Before that, the session has no deadline. */
export function isProven({ proof }: Life): boolean {
  return proof.provenAt !== -Infinity;
}

/**
 * The time at which the session is over for this process if no server answers any more. For a session with holds that is
 * their deadline.
 */
export function endsAt(life: Life): number {
  return life.holds > 0 ? deadlineOf(life.proof) : presumedUntil(life);
}

/**
 * After this time the session is presumed to be over, though a new leader may still give it its whole timeout again. The
 * time says nothing about a hold: see `deadlineOf`.
 */
export function presumedUntil({ terms, epoch, answeredSentAt, proof }: Life): number {
  // The session never connected, or is resumed only in order to close it.
  if (epoch === 0 || terms.isResumed) return -Infinity;
  return answeredSentAt + proof.timeoutMs;
}

/**
 * The time at which the holds are lost. For a session without holds, which has nothing to lose while it is connected:
 * the time at which it is presumed to be over. A session that was never proven has no such time.
 */
export function overdueAt(life: Life): number {
  if (!isProven(life) || life.state.at === 'overdue') return Infinity;
  return life.holds === 0 && life.state.at === 'connected' ? Infinity : endsAt(life);
}

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
  const leftMs = isProven(life) || life.epoch >= terms.hosts ? 0 : terms.connectBy - owedSince;
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
