/** What the clock hears of a session; times are monotonic milliseconds. */
export type ClockEvent =
  | { readonly is: 'granted'; readonly sentAt: number; readonly timeoutMs: number }
  | { readonly is: 'answered'; readonly kind: 'read' | 'sync' | 'write'; readonly sentAt: number; readonly answeredAt: number }
  | { readonly is: 'disconnected' };

/** What is known of a session's life on the servers. `provenAt`: the server cannot have last heard from it before. */
export interface SessionProof {
  readonly timeoutMs: number;
  readonly provenAt: number;
}

export const unproven: SessionProof = { timeoutMs: Infinity, provenAt: -Infinity };

/** The part of the timeout that is given up because the clocks of two machines do not run at one rate. */
const marginOfTimeout = 0.1;

/**
 * The proof after one more event. A request proves the session from when it was **sent**: the server may have counted it
 * at once and its answer may have been under way for long.
 */
export function learn(proof: SessionProof, event: ClockEvent): SessionProof {
  switch (event.is) {
    case 'granted':
      // A new leader starts sessions with the timeout that they were created with: the shortest ever granted is safe.
      return { timeoutMs: Math.min(proof.timeoutMs, event.timeoutMs), provenAt: Math.max(proof.provenAt, event.sentAt) };
    case 'answered':
      return event.sentAt > proof.provenAt ? { ...proof, provenAt: event.sentAt } : proof;
    case 'disconnected':
      return proof;
  }
}

/** Until when the session certainly lives on the servers; after it, they may have given its locks away. */
export function deadlineOf(proof: SessionProof): number {
  return proof.provenAt === -Infinity ? -Infinity : proof.provenAt + proof.timeoutMs * (1 - marginOfTimeout);
}
