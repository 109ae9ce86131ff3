import { FrameDecoder, type Frame, type Op } from '../lab/proxy/zk-frame.ts';
import type { VirtualSocket } from '../lab/virtual/virtual-socket.ts';
import { FrameSplitter } from '../lab/wire/record.ts';

export interface WireListener {
  /** The client sends a transaction. `isAgain`: the server has asked for this one again later (THROTTLED_OP). */
  readonly wrote: (isAgain: boolean) => void;
  /** The client sends the deletion of a znode. */
  readonly deletes: (path: string, session: bigint) => void;
  /** The client gives the connection up before a session is granted: the connection stays only to close that session. */
  readonly gaveUp: () => void;
  /** The client gets the event of a znode's deletion. `isForgetting`: its request to remove the watch is unanswered. */
  readonly heard: (path: string, session: bigint, isForgetting: boolean) => void;
}

/** Lets a listener hear what a client sends and gets on a connection. It hears the answers before the client does. */
export function tap(socket: VirtualSocket, { wrote, deletes, gaveUp, heard }: WireListener): void {
  const decoder = new FrameDecoder(1);
  const splitters = { client: new FrameSplitter(), server: new FrameSplitter() };
  const decode = (from: Frame['from'], chunk: Buffer): Frame[] =>
    splitters[from].push(chunk).map((bytes) => decoder.decode(from, bytes.subarray(4)));
  let session = 0n;
  /** The newest request to remove the watches of a path. */
  const forgetting = new Map<string, number>();
  const transactions = new Transactions();
  const write = socket.write.bind(socket) as (chunk: Buffer) => boolean;
  socket.write = (chunk: Buffer): boolean => {
    for (const { op, xid, body, path = '' } of decode('client', chunk)) {
      if (transactionOps.has(op)) wrote(transactions.isAgain(xid, body));
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
    for (const { op, xid, body, err, path = '' } of decode('server', chunk)) {
      if (op === 'connect') session = body.readBigInt64BE(8);
      else if (op !== 'watch') {
        transactions.answered(xid, err === throttledError);
        // A throttled request is sent again later.
        if (forgetting.get(path) === xid && err !== throttledError) forgetting.delete(path);
      } else if (body.readInt32BE(16) === deletedType) heard(path, session, forgetting.has(path));
    }
  });
}

/** The transactions of a connection that are unanswered, and those that the server has postponed. */
class Transactions {
  readonly #unanswered = new Map<number, string>();
  readonly #postponed = new Set<string>();

  /** The client sends a transaction. Returns true if the server has postponed the same one. */
  isAgain(xid: number, body: Buffer): boolean {
    const text = body.toString('latin1', xidBytes);
    this.#unanswered.set(xid, text);
    return this.#postponed.delete(text);
  }

  answered(xid: number, isPostponed: boolean): void {
    const text = this.#unanswered.get(xid);
    this.#unanswered.delete(xid);
    if (text !== undefined && isPostponed) this.#postponed.add(text);
  }
}

const xidBytes = 4;

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
const deletedType = 2;
const throttledError = -127;
