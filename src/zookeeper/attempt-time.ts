const shortestMs = 250;
const firstOfTimeout = 1 / 24;
const longestOfTimeout = 1 / 3;

/** What decides how long one attempt to connect may last. */
export interface AttemptFacts {
  readonly sessionTimeoutMs: number;
  /** How many rounds over all hosts had an attempt that ran out of time, since a server answered a ConnectRequest. */
  readonly unansweredRounds: number;
  /** Until the session's deadline, in milliseconds; not positive when it has none, or it has passed. */
  readonly leftMs: number;
}

/**
 * How long one server may take to accept a connection and to answer the ConnectRequest. A server that is starting may
 * accept a connection
 * and never answer on it, so the first attempts are short; a server that is slow gets twice the time in each round.
 * Before the deadline
 * an attempt takes at most half of what is left, so that another server can be tried.
 */
export function attemptMs({ sessionTimeoutMs, unansweredRounds, leftMs }: AttemptFacts): number {
  const firstMs = Math.max(shortestMs, sessionTimeoutMs * firstOfTimeout);
  const lengthMs = Math.min(firstMs * 2 ** unansweredRounds, sessionTimeoutMs * longestOfTimeout);
  return Math.max(shortestMs, leftMs > 0 ? Math.min(lengthMs, leftMs / 2) : lengthMs);
}
