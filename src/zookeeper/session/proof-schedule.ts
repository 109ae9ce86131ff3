import { divisors } from '../network/timeout-parts.js';
import { deadlineAfterAnswer, deadlineOf, type SessionProof } from './session-clock.js';

/**
 * When a session proves that it lives, without I/O and timers. A heartbeat is a quorum write, so it costs the servers a
 * transaction. A session needs it only while it is active: while a lock is held or may be granted by the next event,
 * and for one session timeout afterwards. After that, the session is quiet: a pulse costs no transaction, and the next
 * grant needs a new proof first.
 *
 * Times are monotonic milliseconds.
 */
export interface ProofSchedule {
  /** The number of holds, and of waiters that the next event may let be granted. */
  readonly needs: number;
  /** The time of the last moment with a need. */
  readonly neededAt: number;
  /** The time of the last heartbeat's answer; the time when it was sent while the answer is outstanding. */
  readonly beatAt: number;
  /** An attach failed, and the old connection still stands: the session attaches again only after this time. */
  readonly noAttachUntil: number;
}

export const unneeded: ProofSchedule = {
  needs: 0,
  neededAt: -Infinity,
  beatAt: -Infinity,
  noAttachUntil: -Infinity,
};

/** True if the session sends heartbeats. */
export function isActive({ needs, neededAt }: ProofSchedule, now: number, timeoutMs: number): boolean {
  return needs > 0 || now < neededAt + timeoutMs;
}

/** The time of the next pulse after a pulse that ended at `endedAt`: a heartbeat, a sync or a ping. */
export function pulseAfter(schedule: ProofSchedule, endedAt: number, timeoutMs: number): number {
  return endedAt + timeoutMs / (isActive(schedule, endedAt, timeoutMs) ? divisors.heartbeat : divisors.quietPulse);
}

/** The time of the first heartbeat of a session that becomes active. */
export function firstBeatAt({ beatAt }: ProofSchedule, now: number, timeoutMs: number): number {
  return Math.max(now, beatAt + timeoutMs / divisors.heartbeat);
}

/**
 * The step that a grant at this moment needs first.
 *
 * While heartbeats go on, a quarter of the timeout is enough, because the next proof is on its way. Otherwise the first
 * heartbeat is sent only with the grant, and its proof is known up to half of the timeout later: the leader must learn
 * of it (see `learn`).
 */
export function beforeGrant({ beatAt, noAttachUntil }: ProofSchedule, proof: SessionProof, now: number): BeforeGrant {
  const { timeoutMs } = proof;
  const isBeating = now < beatAt + timeoutMs / divisors.heartbeat + timeoutMs / divisors.lateHeartbeat;
  const enoughMs = timeoutMs / (isBeating ? divisors.leftAtGrantWhileBeating : divisors.leftAtGrant);
  if (deadlineOf(proof) - now >= enoughMs) return 'nothing';
  // Heartbeats that were held up go on, and give their proof only half a timeout later. An attach takes some round trips.
  return now < noAttachUntil || deadlineAfterAnswer(proof) - now >= enoughMs ? 'write' : 'attach';
}

/** `write`: the next answers on this connection give the proof. `attach`: only a new connection gives it soon. */
export type BeforeGrant = 'nothing' | 'write' | 'attach';
