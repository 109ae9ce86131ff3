const opNames = {
  1: 'create',
  2: 'delete',
  3: 'exists',
  4: 'getData',
  5: 'setData',
  6: 'getACL',
  7: 'setACL',
  8: 'getChildren',
  9: 'sync',
  11: 'ping',
  12: 'getChildren2',
  13: 'check',
  14: 'multi',
  15: 'create2',
  16: 'reconfig',
  17: 'checkWatches',
  18: 'removeWatches',
  19: 'createContainer',
  20: 'deleteContainer',
  21: 'createTTL',
  22: 'multiRead',
  100: 'auth',
  101: 'setWatches',
  102: 'sasl',
  103: 'getEphemerals',
  104: 'getAllChildrenNumber',
  105: 'setWatches2',
  106: 'addWatch',
  107: 'whoAmI',
  [-11]: 'closeSession',
} as const;

/** `connect` is the first frame each way, `watch` a notification, `unknown` a number that is not in the table. */
export type Op = (typeof opNames)[keyof typeof opNames] | 'connect' | 'watch' | 'unknown';

export interface Frame {
  readonly from: 'client' | 'server';
  /** A reply has the op and the path of its request. */
  readonly op: Op;
  /** The number of the connection, counted from 1 over the proxy's life. */
  readonly connection: number;
  /** 0 in `connect` frames, which have none. */
  readonly xid: number;
  /** The complete frame without its length. */
  readonly body: Buffer;
  /** In replies only. */
  readonly err?: number;
  /** The path of the request, of the first operation of a multi, or of the notification. */
  readonly path?: string;
}

interface Request {
  readonly xid: number;
  readonly op: Op;
  readonly path?: string;
}

/** Decodes the frames of one connection. It remembers the requests, because replies do not contain their op. */
export class FrameDecoder {
  readonly #connection: number;
  readonly #unanswered: Request[] = [];
  readonly #seenFirst = { client: false, server: false };

  constructor(connection: number) {
    this.#connection = connection;
  }

  decode(from: Frame['from'], body: Buffer): Frame {
    const common = { from, connection: this.#connection, body };
    if (!this.#seenFirst[from]) {
      this.#seenFirst[from] = true;
      return { ...common, op: 'connect', xid: 0 };
    }
    if (from === 'server') return { ...common, ...this.#reply(body) };
    const request = parseRequest(body);
    this.#unanswered.push(request);
    return { ...common, ...request };
  }

  #reply(body: Buffer): Request & { err: number } {
    const xid = body.readInt32BE(0);
    const err = body.readInt32BE(12);
    if (xid === -1) return { xid, err, op: 'watch', path: stringAt(body, replyHeaderBytes + 8) };
    // Searches by xid instead of taking the oldest one: a request that a rule dropped is never answered.
    const index = this.#unanswered.findIndex((request) => request.xid === xid);
    const [request] = index < 0 ? [] : this.#unanswered.splice(index, 1);
    return { op: 'unknown', ...request, xid, err };
  }
}

/** Joins the bytes of a stream to frames, each with its length in front. */
export class FrameSplitter {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Buffer[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Buffer[] = [];
    while (this.#rest.length >= 4) {
      const end = 4 + this.#rest.readInt32BE(0);
      if (this.#rest.length < end) break;
      frames.push(this.#rest.subarray(0, end));
      this.#rest = this.#rest.subarray(end);
    }
    return frames;
  }
}

/** The reply without its body, as a server sends an error, with its length in front. */
export function withError(frame: Frame, error: number): Buffer {
  if (frame.err === undefined || frame.op === 'watch') {
    throw new TypeError(`replaceError is for replies, and not for a ${frame.op} frame from the ${frame.from}`);
  }
  const bytes = Buffer.alloc(4 + replyHeaderBytes);
  bytes.writeInt32BE(replyHeaderBytes, 0);
  frame.body.copy(bytes, 4, 0, replyHeaderBytes);
  bytes.writeInt32BE(error, replyHeaderBytes);
  return bytes;
}

/** The reply with this token of SASL in place of its own, with its length in front. */
export function withToken({ body }: Frame, token: string): Buffer {
  const bytes = Buffer.from(token);
  const reply = Buffer.alloc(4 + replyHeaderBytes + 4);
  reply.writeInt32BE(reply.length - 4 + bytes.length, 0);
  body.copy(reply, 4, 0, replyHeaderBytes);
  reply.writeInt32BE(bytes.length, 4 + replyHeaderBytes);
  return Buffer.concat([reply, bytes]);
}

const withoutPath: readonly Op[] = [
  'unknown',
  'ping',
  'auth',
  'setWatches',
  'setWatches2',
  'sasl',
  'reconfig',
  'closeSession',
  'multiRead',
  'whoAmI',
];
const replyHeaderBytes = 16;
const multiHeaderBytes = 9;

function parseRequest(body: Buffer): Request {
  const xid = body.readInt32BE(0);
  const type = body.readInt32BE(4);
  const op = type in opNames ? opNames[type as keyof typeof opNames] : 'unknown';
  const path = withoutPath.includes(op) ? undefined : stringAt(body, op === 'multi' ? 8 + multiHeaderBytes : 8);
  return path === undefined ? { xid, op } : { xid, op, path };
}

function stringAt(body: Buffer, offset: number): string {
  if (body.length < offset + 4) return '';
  const length = body.readInt32BE(offset);
  return body.toString('utf8', offset + 4, offset + 4 + Math.max(0, length));
}
