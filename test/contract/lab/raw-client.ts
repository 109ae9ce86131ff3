import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { FrameSplitter } from '../../../lab/proxy/zk-frame.ts';

const opcodes = {
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  ping: 11,
  multi: 14,
  create2: 15,
  createContainer: 19,
} as const;
type Op = keyof typeof opcodes;

const pingXid = -2;

export interface Reply {
  readonly xid: number;
  readonly err: number;
  readonly body: Buffer;
}

/**
 * A ZooKeeper client that does nothing by itself: it sends what the test sends, and keeps everything that it receives.
 */
export class RawClient implements Disposable {
  readonly replies: Reply[] = [];
  readonly closed: Promise<unknown>;
  /** Includes incomplete frames. */
  bytesReceived = 0;
  readonly #socket: Socket;
  readonly #splitter = new FrameSplitter();
  #xid = 0;
  #connectReply: Buffer | undefined;

  static async connect(port: number, timeoutMs?: number): Promise<RawClient> {
    const client = RawClient.dial(port, timeoutMs);
    await client.connected();
    return client;
  }

  /** Sends the ConnectRequest without waiting for the answer. */
  static dial(port: number, timeoutMs = 10_000): RawClient {
    return new RawClient(connect(port, '127.0.0.1'), timeoutMs);
  }

  private constructor(socket: Socket, timeoutMs: number) {
    this.#socket = socket;
    socket.setNoDelay(true);
    this.closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => this.#receive(chunk));
    this.#send(connectRequest(timeoutMs));
  }

  async connected(): Promise<Buffer> {
    while (this.#connectReply === undefined) await this.#moreData();
    return this.#connectReply;
  }

  /** Sends a request and returns its xid, which is -2 for a ping. */
  send(op: Op, path?: string, watch = false): number {
    const [xid, body] = this.#request(op, path, watch);
    this.#send(body);
    return xid;
  }

  sendCheck(path: string): number {
    const check = Buffer.concat([int(13), Buffer.from([0]), int(-1), buffer(Buffer.from(path)), int(-1)]);
    const end = Buffer.concat([int(-1), Buffer.from([1]), int(-1)]);
    const xid = ++this.#xid;
    this.#send(Buffer.concat([int(xid), int(opcodes.multi), check, end]));
    return xid;
  }

  /** Sends a request byte by byte, each byte in a packet of its own. */
  async sendInPieces(op: Op, path: string): Promise<number> {
    const [xid, body] = this.#request(op, path, false);
    for (const byte of [...int(body.length), ...body]) {
      await new Promise((resolve) => this.#socket.write(Buffer.from([byte]), resolve));
    }
    return xid;
  }

  async reply(xid: number): Promise<Reply> {
    for (;;) {
      const reply = this.replies.find((candidate) => candidate.xid === xid);
      if (reply !== undefined) return reply;
      await this.#moreData();
    }
  }

  request(op: Op, path?: string, watch = false): Promise<Reply> {
    return this.reply(this.send(op, path, watch));
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #request(op: Op, path: string | undefined, watch: boolean): [number, Buffer] {
    const xid = op === 'ping' ? pingXid : ++this.#xid;
    return [xid, Buffer.concat([int(xid), int(opcodes[op]), requestBody(op, path, watch)])];
  }

  #send(body: Buffer): void {
    this.#socket.write(Buffer.concat([int(body.length), body]));
  }

  #receive(chunk: Buffer): void {
    this.bytesReceived += chunk.length;
    for (const frame of this.#splitter.push(chunk)) {
      const body = frame.subarray(4);
      if (this.#connectReply === undefined) this.#connectReply = body;
      else this.replies.push({ xid: body.readInt32BE(0), err: body.readInt32BE(12), body });
    }
  }

  async #moreData(): Promise<void> {
    if (this.#socket.destroyed) throw new Error('The connection ended before the answer');
    await Promise.race([once(this.#socket, 'data'), this.closed]);
  }
}

function connectRequest(timeoutMs: number): Buffer {
  const zxid = Buffer.alloc(8);
  const sessionId = Buffer.alloc(8);
  return Buffer.concat([int(0), zxid, int(timeoutMs), sessionId, buffer(Buffer.alloc(16))]);
}

function requestBody(op: Op, path: string | undefined, watch: boolean): Buffer {
  if (path === undefined) return Buffer.alloc(0);
  const pathBytes = buffer(Buffer.from(path));
  if (op === 'exists' || op === 'getData') return Buffer.concat([pathBytes, Buffer.from([watch ? 1 : 0])]);
  if (op === 'delete') return Buffer.concat([pathBytes, int(-1)]);
  const flags = op === 'createContainer' ? 4 : 0;
  return Buffer.concat([pathBytes, buffer(Buffer.alloc(0)), openAcl(), int(flags)]);
}

function openAcl(): Buffer {
  return Buffer.concat([int(1), int(31), buffer(Buffer.from('world')), buffer(Buffer.from('anyone'))]);
}

function buffer(content: Buffer): Buffer {
  return Buffer.concat([int(content.length), content]);
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
