/** What the clock hears of a session; times are monotonic milliseconds. */
export type ClockEvent =
  /** A ConnectResponse: when its ConnectRequest was sent, and the timeout that it grants. */
  | { readonly is: 'granted'; readonly sentAt: number; readonly timeoutMs: number }
  /** Any answer without an error in its header. `write`: it went through the quorum; `sync`: through the leader. */
  | {
      readonly is: 'answered';
      readonly kind: 'read' | 'sync' | 'write';
      readonly sentAt: number;
      readonly answeredAt: number;
    }
  | { readonly is: 'disconnected' };

interface Written {
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** What is known of a session's life on the servers, and what may become known with the next answers. */
export interface SessionProof {
  /** The shortest that was ever granted. */
  readonly timeoutMs: number;
  /** The servers certainly heard from the session at this time or later. */
  readonly provenAt: number;
  /** The ConnectRequest of this connection, which counts as soon as one quorum write on it is answered. */
  readonly connectSentAt: number | undefined;
  /**
   * Quorum writes answered on this connection, old ones first, that may serve as proof once the leader knows of them.
   */
  readonly written: readonly Written[];
  /** One of them that a later write has carried past a ping of the leader, and when that was answered. */
  readonly relayed: { readonly sentAt: number; readonly at: number } | undefined;
}

export const unproven: SessionProof = {
  timeoutMs: Infinity,
  provenAt: -Infinity,
  connectSentAt: undefined,
  written: [],
  relayed: undefined,
};

/** The part of the timeout that is given up because the clocks of two machines do not run at one rate. */
const marginOfTimeout = 0.1;

/** Of the writes within this part of the relay time one is kept: under load there are thousands. */
const thinningOfRelay = 1 / 16;

/**
 * The proof after one more event. The leader alone expires sessions, and a follower tells it whom it heard from only
 * with its answer
 * to the leader's ping, so an answered request proves nothing by itself: a follower that is cut off goes on answering
 * reads, and a
 * deposed leader even answers syncs (ZOOKEEPER-1675). A quorum write r is known to the leader once, on the same
 * connection,
 * a write W, sent at least `relayMs` after r's answer, is answered (a ping of the leader has passed between them), and
 * a further request V
 * through the leader, sent after W's answer, is answered too (the follower answered the ping before it saw W committed,
 * and links are
 * first-in-first-out). Then the session lives until r was sent plus the timeout.
 */
export function learn(proof: SessionProof, event: ClockEvent, tickTimeMs = Infinity): SessionProof {
  switch (event.is) {
    case 'granted':
      return {
        ...proof,
        timeoutMs: Math.min(proof.timeoutMs, event.timeoutMs),
        connectSentAt: event.sentAt,
        written: [],
        relayed: undefined,
      };
    case 'disconnected':
      return { ...proof, connectSentAt: undefined, written: [], relayed: undefined };
    case 'answered':
      return event.kind === 'read'
        ? proof
        : afterWrite(verified(proof, event), event, relayMs(proof.timeoutMs, tickTimeMs));
  }
}

/** Until when the session certainly lives on the servers; after it, they may have given its locks away. */
export function deadlineOf(proof: SessionProof): number {
  return proof.provenAt === -Infinity ? -Infinity : proof.provenAt + proof.timeoutMs * (1 - marginOfTimeout);
}

/** How long a leader that still commits may go without pinging a follower: assumed, and far beyond its half tick. */
export function relayMs(timeoutMs: number, tickTimeMs: number): number {
  return Math.min(timeoutMs / 3, tickTimeMs);
}

type Answer = Extract<ClockEvent, { is: 'answered' }>;

/** The answer as V. */
function verified(proof: SessionProof, { sentAt }: Answer): SessionProof {
  if (proof.relayed === undefined || sentAt < proof.relayed.at) return proof;
  return { ...proof, provenAt: Math.max(proof.provenAt, proof.relayed.sentAt), relayed: undefined };
}

/**
 * The answer as a write: it confirms the connection, carries older writes past a ping (as W), and may be carried itself
 * (as r).
 */
function afterWrite(proof: SessionProof, { kind, sentAt, answeredAt }: Answer, relay: number): SessionProof {
  if (kind !== 'write') return proof;
  const provenAt = Math.max(proof.provenAt, proof.connectSentAt ?? -Infinity);
  const carried = proof.relayed ? -1 : proof.written.findLastIndex((write) => sentAt >= write.answeredAt + relay);
  const written = carried < 0 ? proof.written : proof.written.slice(carried + 1);
  const last = written.at(-1);
  const isDense = last !== undefined && answeredAt < last.answeredAt + relay * thinningOfRelay;
  const best = proof.written[carried];
  return {
    ...proof,
    provenAt,
    connectSentAt: undefined,
    written: isDense ? written : [...written, { sentAt, answeredAt }],
    relayed: best ? { sentAt: best.sentAt, at: answeredAt } : proof.relayed,
  };
}
