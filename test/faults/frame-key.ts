import type { Frame, Op } from '../support/zk-proxy.ts';

/** One frame of a scenario, told by its place among its like: runs differ in time, not in the order in which one side sends one op. */
export interface FrameKey {
  readonly from: Frame['from'];
  /** A multi that deletes is a hand-over; the others are heartbeats, or look at nothing but the connection. */
  readonly op: Op | 'handOver';
  /** From 1, over all connections of the client. */
  readonly nth: number;
}

/** Numbers the frames of one run. */
export class FrameCounter {
  readonly #counts = new Map<string, number>();
  readonly #heartbeats: number;
  readonly #handOvers: Frame[] = [];

  /** @param heartbeats how many of the session's own are counted: they come by the clock, so most scenarios have none in a fixed place */
  constructor(heartbeats: number) {
    this.#heartbeats = heartbeats;
  }

  /** Undefined for a frame that does not count. */
  key(frame: Frame): FrameKey | undefined {
    const { from, path } = frame;
    const op = this.#isHandOver(frame) ? 'handOver' : frame.op;
    const isHeartbeat = op === 'multi' || (op === 'sync' && path === '/');
    const kind = `${from} ${op}${isHeartbeat ? ' /' : ''}`;
    const nth = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, nth);
    return isHeartbeat && nth > this.#heartbeats ? undefined : { from, op, nth };
  }

  #isHandOver(frame: Frame): boolean {
    if (frame.op !== 'multi') return false;
    if (frame.from === 'server') return this.#handOvers.some(({ connection, xid }) => connection === frame.connection && xid === frame.xid);
    const isHandOver = deletedBy(frame) !== undefined;
    if (isHandOver) this.#handOvers.push(frame);
    return isHandOver;
  }
}

export function isSameKey(a: FrameKey, b: FrameKey): boolean {
  return a.from === b.from && a.op === b.op && a.nth === b.nth;
}

export function keyName({ from, op, nth }: FrameKey): string {
  if (op === 'watch') return `event ${nth}`;
  return `${op} ${nth} ${from === 'client' ? 'request' : 'reply'}`;
}

/** The znode that a request deletes, alone or as the second part of a multi. */
export function deletedBy({ from, op, path, body }: Frame): string | undefined {
  if (from === 'server') return undefined;
  if (op === 'delete') return path;
  if (op !== 'multi') return undefined;
  const afterCheck = stringEnd(body, firstPartAt + partHeaderBytes) + 4;
  if (body.readInt32BE(afterCheck) !== deletion) return undefined;
  const at = afterCheck + partHeaderBytes;
  return body.toString('utf8', at + 4, stringEnd(body, at));
}

const firstPartAt = 8;
const partHeaderBytes = 9;
const deletion = 2;

function stringEnd(body: Buffer, at: number): number {
  return at + 4 + body.readInt32BE(at);
}
