import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { JuteReader, JuteWriter } from '../../../../src/testing/jute.ts';

export interface Ticket {
  readonly sessionId: bigint;
  readonly password: Buffer;
}

/** One connection to a server. It sends frames unchanged, and keeps everything that arrives. */
export class WireConnection {
  /** The frames after the ConnectResponse. */
  readonly frames: Buffer[] = [];
  readonly port: number;
  readonly connected: Promise<unknown>;
  isClosed = false;
  #connectResponse: Buffer | undefined;
  #unread: Buffer = Buffer.alloc(0);
  readonly #socket: Socket;
  readonly #waiting = new Set<() => void>();

  constructor(port: number) {
    this.port = port;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.connected = once(this.#socket, 'connect');
    this.#socket.on('error', () => undefined);
    this.#socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    this.#socket.once('close', () => {
      this.isClosed = true;
      this.#wakeAll();
    });
  }

  /** Opens a session; undefined if the server closes the connection without a reply. */
  async handshake(timeoutMs: number, ticket?: Ticket, lastZxid = 0n): Promise<Buffer | undefined> {
    const { sessionId = 0n, password = Buffer.alloc(16) } = ticket ?? {};
    this.write(
      new JuteWriter().int(0).long(lastZxid).int(timeoutMs).long(sessionId).bytes(password).flag(false).frame(),
    );
    await this.until(() => this.#connectResponse !== undefined);
    return this.#connectResponse;
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** Resolves when the condition holds, or when the connection is closed. Rejects after fifteen seconds. */
  async until(holds: () => boolean): Promise<void> {
    const limit = performance.now() + 15_000;
    const isOver = (): boolean => holds() || this.isClosed;
    while (!isOver()) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, Math.max(0, limit - performance.now()));
        this.#waiting.add(wake);
      });
      if (performance.now() >= limit && !isOver()) throw new Error('No answer within fifteen seconds');
    }
  }

  hasAnswer(xid: number): boolean {
    return this.frames.some((frame) => frame.length >= 4 && frame.readInt32BE(0) === xid);
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    const closed = once(this.#socket, 'close');
    this.#socket.destroy();
    await closed;
  }

  #wakeAll(): void {
    for (const wake of this.#waiting) wake();
  }

  #receive(chunk: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    while (this.#unread.length >= 4) {
      const length = this.#unread.readInt32BE(0);
      if (this.#unread.length < 4 + length) break;
      const frame = Buffer.from(this.#unread.subarray(4, 4 + length));
      this.#unread = this.#unread.subarray(4 + length);
      if (this.#connectResponse === undefined) this.#connectResponse = frame;
      else this.frames.push(frame);
    }
    this.#wakeAll();
  }
}

export function readConnectResponse(body: Buffer): { timeoutMs: number; ticket: Ticket; rest: string } {
  const reader = new JuteReader(body, body.length);
  const protocol = reader.int();
  const timeoutMs = reader.int();
  const sessionId = reader.long();
  const password = reader.bytes() ?? Buffer.alloc(0);
  return {
    timeoutMs,
    ticket: { sessionId, password },
    rest: `${protocol} ${password.length} ${reader.isAtEnd ? 'old' : String(reader.flag())}`,
  };
}
