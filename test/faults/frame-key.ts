import type { Frame, Op } from '../../lab/proxy/zk-proxy.ts';
import type { Scenario } from './scenario.ts';

/**
 * One frame of a scenario, identified by its place among frames of the same kind. Runs differ in time, but not in the
 * order in which one side sends one operation.
 */
export interface FrameKey {
  readonly from: Frame['from'];
  /**
   * A multi that deletes is a hand-over, one that creates a downgrade, one that writes a claim. The others are
   * heartbeats, or only check the connection.
   */
  readonly op: Op | Change;
  /** Counted from 1, over all connections of the client. */
  readonly nth: number;
}

/** The change that one of our transactions makes besides its check. */
type Change = 'handOver' | 'downgrade' | 'claim';

/** Numbers the frames of one run. */
export class FrameCounter {
  readonly #counts = new Map<string, number>();
  readonly #heartbeats: number;
  readonly #isByClock: (frame: Frame) => boolean;
  readonly #changes: { readonly op: Change; readonly connection: number; readonly xid: number }[] = [];

  /**
   * Counts as many of the session's heartbeats as the scenario says. The clock sends heartbeats, so most scenarios have
   * none at a fixed place.
   */
  constructor({ heartbeats = 0, isByClock = () => false }: Scenario) {
    this.#heartbeats = heartbeats;
    this.#isByClock = isByClock;
  }

  /** Returns the key of a frame; undefined for a frame that does not count. */
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

/** True for a request that creates the reader's znode of a downgrade. */
export function isDowngrade(frame: Frame): boolean {
  return frame.from === 'client' && frame.op === 'multi' && secondPart(frame).type === creation;
}

const firstPartAt = 8;
const partHeaderBytes = 9;
const creation = 1;
const deletion = 2;
const writing = 5;

/** Reads the part after the check with which each of our multis begins: its type, and the position of its path. */
function secondPart({ body }: Frame): { readonly type: number; readonly at: number } {
  const afterCheck = stringEnd(body, firstPartAt + partHeaderBytes) + 4;
  return { type: body.readInt32BE(afterCheck), at: afterCheck + partHeaderBytes };
}

function stringEnd(body: Buffer, at: number): number {
  return at + 4 + body.readInt32BE(at);
}
