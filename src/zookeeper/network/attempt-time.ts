import { divisors } from './timeout-parts.js';

const shortestMs = 250;

/** The values that decide how long one attempt to connect may last. */
export interface AttemptFacts {
  readonly sessionTimeoutMs: number;
  /** The number of rounds over all hosts, since the last connection, in which an attempt ran out of time. */
  readonly unansweredRounds: number;
  /**
   * Milliseconds until the session's deadline. 0 or less if the session has no deadline, or the deadline has passed.
   */
  readonly leftMs: number;
  /** The time from the last dial that succeeded until the session was granted. @default 0 */
  readonly measuredMs?: number | undefined;
  /** True if the attempt includes a TLS handshake, or the authentication by SASL: four more round trips. @default false */
  readonly isSecure?: boolean;
}

/**
 * How long one server may take to accept a connection and to answer the ConnectRequest, in milliseconds. The first
 * attempts are short, because a server that is starting may accept a connection and never answer on it. Each round
 * gives a slow server twice the time. Before the deadline, an attempt takes at most half of the remaining time, so that
 * another server can be tried. But no attempt is shorter than twice the time that the last one needed, up to the longest
 * attempt: otherwise every attempt over a long way would fail.
 */
export function attemptMs(facts: AttemptFacts): number {
  const { sessionTimeoutMs, unansweredRounds, leftMs, measuredMs = 0, isSecure = false } = facts;
  const longestMs = sessionTimeoutMs / divisors.longestAttempt;
  const firstMs = Math.max(shortestMs, sessionTimeoutMs / divisors.firstAttempt) * (isSecure ? 2 : 1);
  const lengthMs = Math.min(firstMs * 2 ** unansweredRounds, longestMs);
  const neededMs = Math.min(2 * measuredMs, longestMs);
  return Math.max(shortestMs, neededMs, leftMs > 0 ? Math.min(lengthMs, leftMs / 2) : lengthMs);
}

/**
 * The longest pause before a round over the servers, in milliseconds, while something is held: the servers may be back
 * just before the deadline.
 *
 * @param leftMs the time until the deadline
 */
export function mostPauseMs(sessionTimeoutMs: number, leftMs: number): number {
  return leftMs > 0 ? Math.max(sessionTimeoutMs / divisors.pauseWithHold, leftMs / 8) : Infinity;
}

/**
 * How long one of several addresses is dialled alone. A link that works is not raced, because the server that loses
 * would log a warning: over a long way, two thirds of the time to a session are longer than its first handshake. All
 * addresses are dialled within the attempt.
 */
export function headStartMs(attemptMs: number, addresses: number, measuredMs = 0): number {
  return Math.min(attemptMs / (addresses + 1), Math.max(shortestMs, measuredMs));
}
