import { divisors } from '../network/timeout-parts.js';

/** The events of a session that the clock learns from. Times are monotonic milliseconds. */
export type ClockEvent =
  /** A ConnectResponse: the time when its ConnectRequest was sent, and the timeout that it grants. */
  | { readonly is: 'granted'; readonly sentAt: number; readonly timeoutMs: number }
  /**
   * Any answer without an error in its header. `write`: the request went through the quorum; `sync`: through the
   * leader.
   */
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

/** The facts known about a session's life on the servers, and those that the next answers may prove. */
export interface SessionProof {
  /** The shortest timeout that was ever granted to the session. */
  readonly timeoutMs: number;
  /** The servers certainly heard from the session at this time or later. */
  readonly provenAt: number;
  /**
   * The time of this connection's ConnectRequest. It counts as soon as one quorum write on the connection is answered.
   */
  readonly connectSentAt: number | undefined;
  /**
   * Quorum writes that were answered on this connection, the oldest first. Each may become a proof once the leader
   * knows it.
   */
  readonly written: readonly Written[];
  /**
   * The write that is carried past a ping of the leader by a later write, and the time when that later write was
   * answered.
   */
  readonly relayed: { readonly sentAt: number; readonly at: number } | undefined;
}

export const unproven: SessionProof = {
  timeoutMs: Infinity,
  provenAt: -Infinity,
  connectSentAt: undefined,
  written: [],
  relayed: undefined,
};

/** One write is kept for each such part of the relay time, because there are thousands under load. */
const thinningOfRelay = 1 / 16;

/**
 * The proof after one more event.
 *
 * Only the leader expires sessions, and a follower reports the sessions that it heard from only in its answer to the
 * leader's ping. So an answered request alone proves nothing: a follower that is cut off from the leader continues to
 * answer reads, and a deposed leader even answers syncs (ZOOKEEPER-1675).
 *
 * A quorum write r is known to the leader when two more requests on the same connection have been answered. The first
 * is a write W that was sent at least `relayMs` after r's answer: a ping of the leader passed between them. The second
 * is a request V through the leader that was sent after W's answer: the follower answered the ping before it saw the
 * commit of W, and links are first-in-first-out. Then the session lives at least until the time when r was sent plus
 * the timeout.
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

/**
 * The time until which the session certainly lives on the servers. After it, the servers may have granted the session's
 * locks to others.
 */
export function deadlineOf(proof: SessionProof): number {
  return proof.provenAt === -Infinity ? -Infinity : proof.provenAt + proof.timeoutMs * (1 - 1 / divisors.margin);
}

/** The deadline if a quorum write on the present connection, and a sync behind it, were answered now. */
export function deadlineAfterAnswer(proof: SessionProof): number {
  const { connectSentAt = -Infinity, relayed } = proof;
  return deadlineOf({ ...proof, provenAt: Math.max(proof.provenAt, connectSentAt, relayed?.sentAt ?? -Infinity) });
}

/** The longest time for which a leader that still commits may leave a follower without a ping. */
export function relayMs(timeoutMs: number, tickTimeMs: number): number {
  return Math.min(timeoutMs / divisors.relay, tickTimeMs);
}

type Answer = Extract<ClockEvent, { is: 'answered' }>;

/**
 * Uses the answer as V. The same time as that of W's answer is late enough. The heartbeat sends its sync in the handler of
 * that answer, where a clock may not have moved. And a request that was sent right before the handler ran reaches the
 * server after W's commit as well, because W's answer needed time to arrive.
 */
function verified(proof: SessionProof, { sentAt }: Answer): SessionProof {
  if (proof.relayed === undefined || sentAt < proof.relayed.at) return proof;
  return { ...proof, provenAt: Math.max(proof.provenAt, proof.relayed.sentAt), relayed: undefined };
}

/**
 * Uses the answer as a write. It confirms the connection, carries older writes past a ping (as W), and may be carried
 * itself (as r).
 */
function afterWrite(proof: SessionProof, { kind, sentAt, answeredAt }: Answer, relay: number): SessionProof {
  if (kind !== 'write') return proof;
  const provenAt = Math.max(proof.provenAt, proof.connectSentAt ?? -Infinity);
  const isLate = (write: Written | undefined): boolean => write !== undefined && sentAt >= write.answeredAt + relay;
  // The oldest write is asked first, because most answers carry none.
  const carried = proof.relayed || !isLate(proof.written[0]) ? -1 : proof.written.findLastIndex(isLate);
  const written = carried < 0 ? proof.written : proof.written.slice(carried + 1);
  const last = written.at(-1);
  const isDense = last !== undefined && answeredAt < last.answeredAt + relay * thinningOfRelay;
  // Under load, most of the thousands of answers teach nothing.
  if (carried < 0 && isDense) return proof;
  const best = proof.written[carried];
  return {
    ...proof,
    provenAt,
    connectSentAt: undefined,
    written: isDense ? written : [...written, { sentAt, answeredAt }],
    relayed: best ? { sentAt: best.sentAt, at: answeredAt } : proof.relayed,
  };
}
