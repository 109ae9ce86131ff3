import { FrameDecoder, type Frame, type Op } from '../lab/proxy/zk-frame.ts';
import type { VirtualSocket } from '../lab/virtual/virtual-socket.ts';
import { FrameSplitter } from '../lab/wire/record.ts';

export interface WireListener {
  /** The client sends a transaction. */
  readonly wrote: () => void;
  /** The client sends the deletion of a znode. */
  readonly deletes: (path: string, session: bigint) => void;
  /** The client gets the event of a znode's deletion. `isForgetting`: its request to remove the watch is unanswered. */
  readonly heard: (path: string, session: bigint, isForgetting: boolean) => void;
}

/** Lets a listener hear what a client sends and gets on a connection. It hears the answers before the client does. */
export function tap(socket: VirtualSocket, { wrote, deletes, heard }: WireListener): void {
  const decoder = new FrameDecoder(1);
  const splitters = { client: new FrameSplitter(), server: new FrameSplitter() };
  const decode = (from: Frame['from'], chunk: Buffer): Frame[] =>
    splitters[from].push(chunk).map((bytes) => decoder.decode(from, bytes.subarray(4)));
  let session = 0n;
  const forgetting = new Map<number, string>();
  const write = socket.write.bind(socket) as (chunk: Buffer) => boolean;
  socket.write = (chunk: Buffer): boolean => {
    for (const { op, xid, path = '' } of decode('client', chunk)) {
      if (transactions.has(op)) wrote();
      if (op === 'delete') deletes(path, session);
      else if (op === 'removeWatches') forgetting.set(xid, path);
    }
    return write(chunk);
  };
  socket.on('data', (chunk: Buffer) => {
    for (const { op, xid, body, path = '' } of decode('server', chunk)) {
      if (op === 'connect') session = body.readBigInt64BE(8);
      else if (op !== 'watch') forgetting.delete(xid);
      else if (body.readInt32BE(16) === deletedType) heard(path, session, [...forgetting.values()].includes(path));
    }
  });
}

const transactions: ReadonlySet<Op> = new Set([
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
