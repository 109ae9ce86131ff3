import { deadlineAfterWrite, deadlineOf, type SessionProof } from './session-clock.js';

/**
 * When a session proves that it lives, without I/O and timers. A heartbeat is a quorum write, so it costs the servers a
 * transaction. A session needs it only while it is active: while a lock is held or may be granted by the next event,
 * and for one session timeout afterwards. After that, the session is quiet: a pulse costs no transaction, and the next
 * grant needs a new proof first.
 *
 * Times are monotonic milliseconds.
 */
export class ProofSchedule {
  /** The number of holds, and of waiters that the next event may let be granted. */
  #needs = 0;
  /** The time of the last moment with a need. */
  #neededAt = -Infinity;
  /** The time of the last heartbeat's answer; the time when it was sent while the answer is outstanding. */
  #beatAt = -Infinity;

  /** A lock is held, or a waiter may be granted by the next event. */
  need(): void {
    this.#needs += 1;
  }

  /** As often as `need`. */
  needNoMore(now: number): void {
    this.#needs -= 1;
    this.#neededAt = now;
  }

  /** True if the session sends heartbeats. */
  isActive(now: number, timeoutMs: number): boolean {
    return this.#needs > 0 || now < this.#neededAt + timeoutMs;
  }

  /** A heartbeat is sent, or answered. */
  beat(now: number): void {
    this.#beatAt = now;
  }

  /** The time of the next pulse after a pulse that ended at `endedAt`: a heartbeat, a sync or a ping. */
  pulseAfter(endedAt: number, timeoutMs: number): number {
    return endedAt + timeoutMs / (this.isActive(endedAt, timeoutMs) ? heartbeatsPerTimeout : quietPulsesPerTimeout);
  }

  /** The time of the first heartbeat of a session that becomes active. */
  firstBeatAt(now: number, timeoutMs: number): number {
    return Math.max(now, this.#beatAt + timeoutMs / heartbeatsPerTimeout);
  }

  /**
   * The step that a grant at this moment needs first.
   *
   * While heartbeats go on, a quarter of the timeout is enough, because the next proof is on its way. Otherwise the
   * first heartbeat is sent only with the grant, and its proof is known up to half of the timeout later: the leader
   * must learn of it (see `learn`).
   */
  beforeGrant(proof: SessionProof, now: number): BeforeGrant {
    const { timeoutMs } = proof;
    const isBeating = now < this.#beatAt + timeoutMs / heartbeatsPerTimeout + timeoutMs / mostLateOfTimeout;
    if (deadlineOf(proof) - now >= timeoutMs / (isBeating ? 4 : 2)) return 'nothing';
    return isBeating || deadlineAfterWrite(proof) - now >= timeoutMs / 2 ? 'write' : 'attach';
  }
}

/**
 * The time at which a connection is given up unless the server answers.
 *
 * While a lock is held, the oldest request may be unanswered for a quarter of the timeout, otherwise for two thirds. And
 * while no lock is held, two thirds of the timeout may pass since the newest answered request or ping was sent: then the
 * last third is left for the other servers, and the waiters keep their places. A request that was sent late, because the
 * process did not run, gets a sixth.
 */
export function silentAt({ unansweredSince, answeredSentAt, isUrgent }: Silence, timeoutMs: number): number {
  if (isUrgent) return unansweredSince + timeoutMs / 4;
  const twoThirdsMs = (timeoutMs * 2) / 3;
  return Math.min(
    unansweredSince + twoThirdsMs,
    Math.max(answeredSentAt + twoThirdsMs, unansweredSince + timeoutMs / 6),
  );
}

export interface Silence {
  /** The time since which the server owes an answer. */
  readonly unansweredSince: number;
  /** The time when the newest answered request or ping was sent. */
  readonly answeredSentAt: number;
  /** True if a lock is held, or the session is being closed. */
  readonly isUrgent: boolean;
}

/**
 * `write`: the answer to a quorum write on this connection, or to the heartbeats that go on. `attach`: only a new
 * connection gives the proof soon.
 */
export type BeforeGrant = 'nothing' | 'write' | 'attach';

const heartbeatsPerTimeout = 6;

/** Two pulses must fit into the time after which a connection without an answer is given up. */
const quietPulsesPerTimeout = 3;

/** A heartbeat that is late by this part of the timeout counts as missing. */
const mostLateOfTimeout = 24;
