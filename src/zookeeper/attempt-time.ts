const shortestMs = 250;
const firstOfTimeout = 1 / 24;
const longestOfTimeout = 1 / 3;

/** The values that decide how long one attempt to connect may last. */
export interface AttemptFacts {
  readonly sessionTimeoutMs: number;
  /** The number of rounds over all hosts, since the last connection, in which an attempt ran out of time. */
  readonly unansweredRounds: number;
  /**
   * Milliseconds until the session's deadline. 0 or less if the session has no deadline, or the deadline has passed.
   */
  readonly leftMs: number;
  /** True if the attempt includes a TLS handshake, or the authentication by SASL: four more round trips. @default false */
  readonly isSecure?: boolean;
}

/**
 * How long one server may take to accept a connection and to answer the ConnectRequest, in milliseconds. The first
 * attempts are short, because a server that is starting may accept a connection and never answer on it. Each round
 * gives a slow server twice the time. Before the deadline, an attempt takes at most half of the remaining time, so that
 * another server can be tried.
 */
export function attemptMs({ sessionTimeoutMs, unansweredRounds, leftMs, isSecure = false }: AttemptFacts): number {
  const firstMs = Math.max(shortestMs, sessionTimeoutMs * firstOfTimeout) * (isSecure ? 2 : 1);
  const lengthMs = Math.min(firstMs * 2 ** unansweredRounds, sessionTimeoutMs * longestOfTimeout);
  return Math.max(shortestMs, leftMs > 0 ? Math.min(lengthMs, leftMs / 2) : lengthMs);
}
