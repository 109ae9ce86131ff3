import { opcodes, xids, type OpName } from '../wire/opcodes.ts';
import { RecordWriter } from '../wire/record.ts';

/** `connect` is the first frame each way, `watch` a notification, `unknown` a number that is not in the table. */
export type Op = OpName | 'connect' | 'watch' | 'unknown';

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
  /** The errors of the requests that the server must not carry out, by their xids. */
  readonly #refused = new Map<number, number>();
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
    if (from === 'server') return this.#refusal({ ...common, ...this.#reply(body) });
    const request = parseRequest(body);
    this.#unanswered.push(request);
    return { ...common, ...request };
  }

  /**
   * The answer to this request will be this error. Returns a request that changes nothing, with the same xid and its
   * length in front, to send in its place.
   */
  refuse({ xid }: Frame, error: number): Buffer {
    this.#refused.set(xid, error);
    return new RecordWriter().int(xid).int(opcodes.exists).bytes('/').flag(false).frame();
  }

  #refusal(frame: Frame): Frame {
    const error = this.#refused.get(frame.xid);
    if (error === undefined || frame.op === 'watch') return frame;
    this.#refused.delete(frame.xid);
    return { ...frame, err: error, body: withError(frame, error).subarray(4) };
  }

  #reply(body: Buffer): Request & { err: number } {
    const xid = body.readInt32BE(0);
    const err = body.readInt32BE(errorAt);
    if (xid === xids.event) return { xid, err, op: 'watch', path: stringAt(body, replyHeaderBytes + 8) };
    // Searches by xid instead of taking the oldest one: a request that a rule dropped is never answered.
    const index = this.#unanswered.findIndex((request) => request.xid === xid);
    const [request] = index < 0 ? [] : this.#unanswered.splice(index, 1);
    return { op: 'unknown', ...request, xid, err };
  }
}

/** The reply without its body, as a server sends an error, with its length in front. */
export function withError(frame: Frame, error: number): Buffer {
  if (frame.err === undefined || frame.op === 'watch')
    throw new TypeError(`replaceError is for replies, and not for a ${frame.op} frame from the ${frame.from}`);
  return new RecordWriter().raw(frame.body.subarray(0, errorAt)).int(error).frame();
}

/** The reply with this token of SASL in place of its own, with its length in front. */
export function withToken({ body }: Frame, token: string): Buffer {
  return new RecordWriter().raw(body.subarray(0, replyHeaderBytes)).bytes(token).frame();
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
const opNames = new Map<number, OpName>(Object.entries(opcodes).map(([name, number]) => [number, name as OpName]));
const errorAt = 12;
const replyHeaderBytes = 16;
const multiHeaderBytes = 9;

function parseRequest(body: Buffer): Request {
  const xid = body.readInt32BE(0);
  const type = body.readInt32BE(4);
  const op = opNames.get(type) ?? 'unknown';
  const path = withoutPath.includes(op) ? undefined : stringAt(body, op === 'multi' ? 8 + multiHeaderBytes : 8);
  return path === undefined ? { xid, op } : { xid, op, path };
}

function stringAt(body: Buffer, offset: number): string {
  if (body.length < offset + 4) return '';
  const length = body.readInt32BE(offset);
  return body.toString('utf8', offset + 4, offset + 4 + Math.max(0, length));
}
