import type { Frame, Op } from '../../harness/zk-proxy.ts';
import type { Scenario } from './scenario.ts';

/**
 * One frame of a scenario, told by its place among its like: runs differ in time, not in the order in which one side
 * sends one op.
 */
export interface FrameKey {
  readonly from: Frame['from'];
  /**
   * A multi that deletes is a hand-over, one that creates a downgrade, one that writes a claim; the others are
   * heartbeats, or look at nothing but the connection.
   */
  readonly op: Op | Change;
  /** From 1, over all connections of the client. */
  readonly nth: number;
}

/** What a transaction of ours does besides looking. */
type Change = 'handOver' | 'downgrade' | 'claim';

/** Numbers the frames of one run. */
export class FrameCounter {
  readonly #counts = new Map<string, number>();
  readonly #heartbeats: number;
  readonly #isByClock: (frame: Frame) => boolean;
  readonly #changes: { readonly op: Change; readonly connection: number; readonly xid: number }[] = [];

  /**
   * Of the session's own heartbeats as many are counted as the scenario says: they come by the clock, so most have none
   * in a fixed place.
   */
  constructor({ heartbeats = 0, isByClock = () => false }: Scenario) {
    this.#heartbeats = heartbeats;
    this.#isByClock = isByClock;
  }

  /** Undefined for a frame that does not count. */
  key(frame: Frame): FrameKey | undefined {
    if (this.#isByClock(frame)) return undefined;
    const { from, path } = frame;
    const op = this.#changeBy(frame) ?? frame.op;
    const isHeartbeat = op === 'multi' || (op === 'sync' && path === '/');
    const kind = `${from} ${op}${isHeartbeat ? ' /' : ''}`;
    const nth = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, nth);
    return isHeartbeat && nth > this.#heartbeats ? undefined : { from, op, nth };
  }

  #changeBy(frame: Frame): Change | undefined {
    const { from, op, connection, xid } = frame;
    if (op !== 'multi') return undefined;
    if (from === 'server') return this.#changes.find((one) => one.connection === connection && one.xid === xid)?.op;
    const change = ({ [deletion]: 'handOver', [creation]: 'downgrade', [writing]: 'claim' } as const)[
      secondPart(frame).type
    ];
    if (change) this.#changes.push({ op: change, connection, xid });
    return change;
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
export function deletedBy(frame: Frame): string | undefined {
  if (frame.from === 'server') return undefined;
  if (frame.op === 'delete') return frame.path;
  if (frame.op !== 'multi') return undefined;
  const { type, at } = secondPart(frame);
  return type === deletion ? frame.body.toString('utf8', at + 4, stringEnd(frame.body, at)) : undefined;
}

/** Whether a request creates a znode beside another one. */
export function isDowngrade(frame: Frame): boolean {
  return frame.from === 'client' && frame.op === 'multi' && secondPart(frame).type === creation;
}

const firstPartAt = 8;
const partHeaderBytes = 9;
const creation = 1;
const deletion = 2;
const writing = 5;

/** Behind the check that each of our multis begins with: what the next part does, and where its path is. */
function secondPart({ body }: Frame): { readonly type: number; readonly at: number } {
  const afterCheck = stringEnd(body, firstPartAt + partHeaderBytes) + 4;
  return { type: body.readInt32BE(afterCheck), at: afterCheck + partHeaderBytes };
}

function stringEnd(body: Buffer, at: number): number {
  return at + 4 + body.readInt32BE(at);
}
