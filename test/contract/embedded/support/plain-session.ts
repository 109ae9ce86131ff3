import { JuteReader } from '../../../../src/testing/jute.ts';
import { encode, type Request } from './request.ts';
import { readConnectResponse, WireConnection, type Ticket } from './wire-connection.ts';

export interface Answer {
  readonly zxid: number;
  readonly error: number;
  readonly reader: JuteReader;
}

const open = [{ perms: 31, scheme: 'world', id: 'anyone' }];

/**
 * A session that only does what the test calls: it sends no pings, sets no watches and does not reconnect by itself.
 */
export class PlainSession {
  ticket: Ticket = { sessionId: 0n, password: Buffer.alloc(0) };
  timeoutMs = 0;
  readonly #connection: WireConnection;
  #xid = 0;
  #events = 0;

  static async open(port: number, timeoutMs: number, ticket?: Ticket): Promise<PlainSession> {
    return (await PlainSession.dial(port)).opened(timeoutMs, ticket);
  }

  /** Connects, without a session yet. */
  static async dial(port: number): Promise<PlainSession> {
    const session = new PlainSession(new WireConnection(port));
    await session.#connection.connected;
    return session;
  }

  private constructor(connection: WireConnection) {
    this.#connection = connection;
  }

  async opened(timeoutMs: number, ticket?: Ticket, lastZxid?: bigint): Promise<this> {
    const response = await this.#connection.handshake(timeoutMs, ticket, lastZxid);
    if (response) Object.assign(this, readConnectResponse(response));
    return this;
  }

  get id(): string {
    return `0x${this.ticket.sessionId.toString(16)}`;
  }

  get isRefused(): boolean {
    return this.ticket.sessionId === 0n;
  }

  get isClosed(): boolean {
    return this.#connection.isClosed;
  }

  get closed(): Promise<void> {
    return this.#connection.until(() => false);
  }

  get received(): number {
    return this.#connection.frames.length;
  }

  /** One line for each answer and each event, in the order of their arrival. */
  get transcript(): string[] {
    return this.#connection.frames.map((frame) => {
      const reader = new JuteReader(frame, frame.length);
      const xid = reader.int();
      reader.long();
      const error = reader.int();
      return xid === -1 ? `event ${reader.int()} ${reader.int()} ${reader.text() ?? ''}` : `#${xid} ${error}`;
    });
  }

  /** Sends the requests in one write, and resolves when the last one is answered. */
  async requests(...requests: readonly Request[]): Promise<void> {
    const frames = requests.map((request) => encode(++this.#xid, request, 0));
    const last = this.#xid;
    this.#connection.write(Buffer.concat(frames));
    await this.#connection.until(() => this.#answersTo(last).length > 0);
  }

  /** Ends the connection, but not the session. */
  disconnect(): Promise<void> {
    return this.#connection.close();
  }

  /** Resolves when the server has accepted the connection. The server does that before it answers on a later one. */
  async accepted(): Promise<void> {
    const port = this.#connection.port;
    await (await PlainSession.open(port, 1_000)).request({ op: 'closeSession' });
  }

  async request(request: Request): Promise<Answer> {
    const xid = request.op === 'ping' ? -2 : ++this.#xid;
    const before = this.#answersTo(xid).length;
    this.#connection.write(encode(xid, request, 0));
    await this.#connection.until(() => this.#answersTo(xid).length > before);
    const frame = this.#answersTo(xid).at(-1);
    if (!frame) throw new Error('The connection was closed without an answer');
    const reader = new JuteReader(frame, frame.length);
    reader.int();
    return { zxid: Number(reader.long()), error: reader.int(), reader };
  }

  create(path: string, flags: number): Promise<Answer> {
    return this.request({ op: 'create2', path, data: '', acl: open, flags, ttl: -1 });
  }

  createContainer(path: string): Promise<Answer> {
    return this.request({ op: 'createContainer', path, data: '', acl: open, flags: 4, ttl: -1 });
  }

  createTtl(path: string, ttl: number): Promise<Answer> {
    return this.request({ op: 'createTTL', path, data: '', acl: open, flags: 5, ttl });
  }

  async childrenOfRoot(): Promise<readonly (string | null)[]> {
    return (await this.request({ op: 'getChildren', path: '/', watch: false })).reader.texts() ?? [];
  }

  async nextEvent(): Promise<{ type: number; path: string | null }> {
    const at = this.#events++;
    await this.#connection.until(() => this.#answersTo(-1).length > at);
    const frame = this.#answersTo(-1)[at];
    if (!frame) throw new Error('The connection was closed without an event');
    const reader = new JuteReader(frame, frame.length, 16);
    const type = reader.int();
    reader.int();
    return { type, path: reader.text() };
  }

  #answersTo(xid: number): Buffer[] {
    return this.#connection.frames.filter((frame) => frame.readInt32BE(0) === xid);
  }
}
