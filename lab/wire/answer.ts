import { errorName, xids } from './opcodes.ts';
import { RecordReader } from './record.ts';

const headerBytes = 16;

/** An answer of a server, or an event. */
export class Answer {
  /** The complete frame without its length. */
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get xid(): number {
    return this.bytes.readInt32BE(0);
  }

  get zxid(): number {
    return Number(this.bytes.readBigInt64BE(4));
  }

  get error(): number {
    return this.bytes.readInt32BE(12);
  }

  /** The name of the error, or `ok`. */
  get result(): string {
    return errorName(this.error);
  }

  /** Undefined in an answer to a request. */
  get event(): WatchEvent | undefined {
    if (this.xid !== xids.event) return undefined;
    const record = this.record();
    return { type: record.int(), state: record.int(), path: record.text() };
  }

  /** Reads from the first byte after the header. */
  record(): RecordReader {
    return new RecordReader(this.bytes, headerBytes);
  }
}

export interface WatchEvent {
  readonly type: number;
  readonly state: number;
  readonly path: string | null;
}

/** The proof that a client owns a session. */
export interface Ticket {
  readonly sessionId: bigint;
  readonly password: Buffer;
}

export const noTicket: Ticket = { sessionId: 0n, password: Buffer.alloc(16) };

export interface ConnectResponse {
  readonly protocol: number;
  readonly timeoutMs: number;
  /** Its session is 0 if the server refuses. */
  readonly ticket: Ticket;
  /** Undefined if the server left the field out. */
  readonly readOnly: boolean | undefined;
}

export function readConnectResponse(body: Buffer): ConnectResponse {
  const record = new RecordReader(body);
  return {
    protocol: record.int(),
    timeoutMs: record.int(),
    ticket: { sessionId: record.long(), password: record.bytes() ?? Buffer.alloc(0) },
    readOnly: record.isAtEnd ? undefined : record.flag(),
  };
}
