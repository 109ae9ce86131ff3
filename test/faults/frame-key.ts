import type { Frame, Op } from '../support/zk-proxy.ts';

/** One frame of a scenario, told by its place among its like: runs differ in time, not in the order in which one side sends one op. */
export interface FrameKey {
  readonly from: Frame['from'];
  readonly op: Op;
  /** From 1, over all connections of the client. */
  readonly nth: number;
}

/** Numbers the frames of one run. */
export class FrameCounter {
  readonly #counts = new Map<string, number>();
  readonly #heartbeats: number;

  /** @param heartbeats how many of the session's own are counted: they come by the clock, so most scenarios have none in a fixed place */
  constructor(heartbeats: number) {
    this.#heartbeats = heartbeats;
  }

  /** Undefined for a frame that does not count. */
  key({ from, op, path }: Frame): FrameKey | undefined {
    const isHeartbeat = op === 'multi' || (op === 'sync' && path === '/');
    const kind = `${from} ${op}${isHeartbeat ? ' /' : ''}`;
    const nth = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, nth);
    return isHeartbeat && nth > this.#heartbeats ? undefined : { from, op, nth };
  }
}

export function isSameKey(a: FrameKey, b: FrameKey): boolean {
  return a.from === b.from && a.op === b.op && a.nth === b.nth;
}

export function keyName({ from, op, nth }: FrameKey): string {
  if (op === 'watch') return `event ${nth}`;
  return `${op} ${nth} ${from === 'client' ? 'request' : 'reply'}`;
}
