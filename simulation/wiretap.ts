import { FrameDecoder, type Frame, type Op } from '../lab/proxy/zk-frame.ts';
import type { VirtualSocket } from '../lab/virtual/virtual-socket.ts';
import { FrameSplitter } from '../lab/wire/record.ts';

export interface WireListener {
  /** The client sends a transaction. `isAgain`: the server has asked for this one again later (THROTTLED_OP). */
  readonly wrote: (transaction: Transaction, isAgain: boolean) => void;
  /** The client gets the answer to a transaction. */
  readonly answered: (request: Buffer, answer: Frame) => void;
  /** The client asks for a session that it had before. */
  readonly attaches: (session: bigint) => void;
  /** The server grants a session. */
  readonly connected: (session: bigint) => void;
  /** The client sends the deletion of a znode. */
  readonly deletes: (path: string, session: bigint) => void;
  /** The client gives the connection up before a session is granted: the connection stays only to close that session. */
  readonly gaveUp: () => void;
  /**
   * The client gets the event of a watch. `isForgetting`: it has asked to remove that watch, and has no answer yet.
   */
  readonly heard: (event: WatchNews) => void;
}

export interface Transaction extends Pick<Frame, 'op' | 'path' | 'body'> {
  /** False when the connection that carries it has ended. */
  readonly isOnItsWay: () => boolean;
}

/** Lets a listener hear what a client sends and gets on a connection. It hears the answers before the client does. */
export function tap(socket: VirtualSocket, listener: WireListener): void {
  const { wrote, answered, attaches, deletes, gaveUp, connected, heard } = listener;
  const decoder = new FrameDecoder(1);
  const splitters = { client: new FrameSplitter(), server: new FrameSplitter() };
  const decode = (from: Frame['from'], chunk: Buffer): Frame[] =>
    splitters[from].push(chunk).map((bytes) => decoder.decode(from, bytes.subarray(4)));
  let session = 0n;
  /** The newest request to remove the watches of a path. */
  const forgetting = new Map<string, number>();
  const transactions = new Transactions();
  const isOnItsWay = (): boolean => !socket.destroyed;
  const write = socket.write.bind(socket) as (chunk: Buffer) => boolean;
  socket.write = (chunk: Buffer): boolean => {
    for (const { op, xid, body, path = '' } of decode('client', chunk)) {
      if (op === 'connect') {
        const asked = body.readBigInt64BE(16);
        if (asked !== 0n) attaches(asked);
      }
      if (transactionOps.has(op)) wrote({ op, path, body, isOnItsWay }, transactions.isAgain(xid, body));
      if (op === 'delete') deletes(path, session);
      else if (op === 'removeWatches') forgetting.set(path, xid);
    }
    return write(chunk);
  };
  const unref = socket.unref.bind(socket);
  socket.unref = () => {
    gaveUp();
    return unref();
  };
  socket.on('data', (chunk: Buffer) => {
    for (const frame of decode('server', chunk)) {
      const { op, xid, body, err, path = '' } = frame;
      if (op === 'connect') {
        session = body.readBigInt64BE(8);
        connected(session);
      } else if (op !== 'watch') {
        const request = transactions.answered(xid, err === throttledError);
        if (request) answered(request, frame);
        // A throttled request is sent again later.
        if (forgetting.get(path) === xid && err !== throttledError) forgetting.delete(path);
      } else {
        const what = eventTypes.get(body.readInt32BE(16));
        if (what) heard({ what, path, session, isForgetting: forgetting.has(path) });
      }
      // The client ends the connection there, and reads nothing behind it.
      if (err !== undefined && endsConnection.has(err)) return;
    }
  });
}

export interface WatchNews {
  readonly what: 'deleted' | 'children';
  readonly path: string;
  readonly session: bigint;
  readonly isForgetting: boolean;
}

/** The transactions of a connection that are unanswered, and those that the server has postponed. */
class Transactions {
  readonly #unanswered = new Map<number, Buffer>();
  readonly #postponed = new Set<string>();

  /** The client sends a transaction. Returns true if the server has postponed the same one. */
  isAgain(xid: number, body: Buffer): boolean {
    this.#unanswered.set(xid, body);
    return this.#postponed.delete(textOf(body));
  }

  /** Returns the request. */
  answered(xid: number, isPostponed: boolean): Buffer | undefined {
    const body = this.#unanswered.get(xid);
    this.#unanswered.delete(xid);
    if (body && isPostponed) this.#postponed.add(textOf(body));
    return body;
  }
}

function textOf(body: Buffer): string {
  return body.toString('latin1', xidBytes);
}

const xidBytes = 4;

/** SESSION_EXPIRED and SESSION_MOVED. */
const endsConnection: ReadonlySet<number> = new Set([-112, -118]);

const transactionOps: ReadonlySet<Op> = new Set([
  'create',
  'delete',
  'setData',
  'setACL',
  'check',
  'multi',
  'create2',
  'createContainer',
  'deleteContainer',
  'createTTL',
]);
const eventTypes: ReadonlyMap<number, WatchNews['what']> = new Map([
  [2, 'deleted'],
  [4, 'children'],
]);
const throttledError = -127;
