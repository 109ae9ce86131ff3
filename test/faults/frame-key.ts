import type { Frame, Op } from '../../lab/proxy/zk-proxy.ts';

/** One frame of a scenario, identified by its place among frames of the same kind over all connections of the client. */
export interface FrameKey {
  readonly from: Frame['from'];
  /** A multi that deletes is a hand-over, one that creates a downgrade, one that writes a claim. Others only check. */
  readonly op: Op | Change;
  /** Counted from 1. */
  readonly nth: number;
}

/** The change that one of our transactions makes besides its check. */
type Change = 'handOver' | 'downgrade' | 'claim';

/** Numbers the frames of one run. */
export class FrameCounter {
  readonly #counts = new Map<string, number>();
  readonly #changes = new Map<string, Change>();

  key(frame: Frame): FrameKey {
    const { from } = frame;
    const op = this.#changeBy(frame) ?? frame.op;
    const nth = (this.#counts.get(`${from} ${op}`) ?? 0) + 1;
    this.#counts.set(`${from} ${op}`, nth);
    return { from, op, nth };
  }

  #changeBy(frame: Frame): Change | undefined {
    const { from, op, connection, xid } = frame;
    if (op !== 'multi') return undefined;
    if (from === 'server') return this.#changes.get(`${connection} ${xid}`);
    const change = changes[secondPart(frame)];
    if (change) this.#changes.set(`${connection} ${xid}`, change);
    return change;
  }
}

export function keyName({ from, op, nth }: FrameKey): string {
  if (op === 'watch') return `event ${nth}`;
  return `${op} ${nth} ${from === 'client' ? 'request' : 'reply'}`;
}

/** True for a request that creates the reader's znode of a downgrade. */
export function isDowngrade(frame: Frame): boolean {
  return frame.from === 'client' && frame.op === 'multi' && changes[secondPart(frame)] === 'downgrade';
}

const changes: Readonly<Record<number, Change>> = { 1: 'downgrade', 2: 'handOver', 5: 'claim', 15: 'downgrade' };

/** The type of the part after the check with which each of our multis begins. */
function secondPart({ body }: Frame): number {
  const checkAt = 8 + 9;
  return body.readInt32BE(checkAt + 4 + body.readInt32BE(checkAt) + 4);
}
