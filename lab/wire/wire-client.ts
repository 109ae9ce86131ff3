import { connect } from 'node:net';
import { Answer, noTicket, readConnectResponse, type ConnectResponse, type Ticket } from './answer.ts';
import { xids } from './opcodes.ts';
import { FrameSplitter } from './record.ts';
import { connectRequest, encode, type Request } from './request.ts';

/** Opens a connection to a server, and tells what arrives on it, and its end. */
export type Transport = (arrived: (bytes: Buffer) => void, ended: () => void) => WireEnd;

/** The client's end of a connection. */
export interface WireEnd {
  write(bytes: Buffer): void;
  destroy(): void;
}

export function overTcp(port: number, host = '127.0.0.1'): Transport {
  return (arrived, ended) => {
    const socket = connect({ port, host, noDelay: true });
    socket.on('error', () => undefined);
    socket.on('data', arrived);
    socket.once('close', ended);
    return { write: (bytes) => void socket.write(bytes), destroy: () => void socket.destroy() };
  };
}

/** Connects to a server, and sends the ConnectRequest. `opened` waits for its answer. */
export function dial(port: number, timeoutMs = 10_000, ticket?: Ticket, lastZxid?: number): WireClient {
  return new WireClient(overTcp(port)).connect(timeoutMs, ticket, lastZxid);
}

/** The connection has ended, or the server keeps silent. */
export class NoAnswerError extends Error {}

const limitMs = 30_000;

/**
 * One connection to one server, without any code of the library. It sends only what the test asks for, and keeps
 * everything that arrives. Without the methods that return a promise, it has no timers and no turns of its own.
 */
export class WireClient implements Disposable {
  /** Undefined until the server has answered the ConnectRequest. */
  response: ConnectResponse | undefined;
  /** The answers and the events, in the order of their arrival. */
  readonly answers: Answer[] = [];
  /** Includes incomplete frames. */
  bytesReceived = 0;
  isClosed = false;
  readonly #end: WireEnd;
  readonly #splitter = new FrameSplitter();
  readonly #waiting = new Set<() => void>();
  #xid = 0;

  constructor(transport: Transport) {
    this.#end = transport(
      (bytes) => this.#receive(bytes),
      () => {
        this.isClosed = true;
        this.#wake();
      },
    );
  }

  get ticket(): Ticket {
    return this.response?.ticket ?? noTicket;
  }

  get timeoutMs(): number {
    return this.response?.timeoutMs ?? 0;
  }

  /** The session's id as servers print it. */
  get id(): string {
    return `0x${this.ticket.sessionId.toString(16)}`;
  }

  /** True if the server has answered that there is no such session. */
  get isRefused(): boolean {
    return this.response?.ticket.sessionId === 0n;
  }

  get isOpen(): boolean {
    return this.response !== undefined && !this.isRefused && !this.isClosed;
  }

  get closed(): Promise<void> {
    return this.until(() => false);
  }

  /** Sends the ConnectRequest. */
  connect(timeoutMs: number, ticket?: Ticket, lastZxid?: number): this {
    this.write(connectRequest(timeoutMs, ticket, lastZxid));
    return this;
  }

  /** Resolves when the server has answered the ConnectRequest, or has ended the connection. */
  async opened(ms = limitMs): Promise<this> {
    await this.until(() => this.response !== undefined, ms);
    return this;
  }

  /** Sends the requests in one write. Returns the xid of the last one. */
  send(...requests: readonly [Request, ...Request[]]): number {
    const xidOf = ({ op }: Request): number => (op === 'ping' ? xids.ping : (this.#xid += 1));
    const numbered = requests.map((request) => ({ xid: xidOf(request), request }));
    this.write(Buffer.concat(numbered.map(({ xid, request }) => encode(xid, request))));
    return numbered.at(-1)?.xid ?? 0;
  }

  async request(request: Request, ms?: number): Promise<Answer> {
    const pongs = this.#answersTo(xids.ping).length;
    const xid = this.send(request);
    return this.answerTo(xid, xid === xids.ping ? pongs : 0, ms);
  }

  /** @param nth all pings have the same xid, and so have all events */
  async answerTo(xid: number, nth = 0, ms?: number): Promise<Answer> {
    await this.until(() => this.#answersTo(xid).length > nth, ms);
    const answer = this.#answersTo(xid)[nth];
    if (answer === undefined) throw new NoAnswerError('The connection was closed without an answer');
    return answer;
  }

  /** For clients that live long. */
  forget(answer: Answer): void {
    this.answers.splice(this.answers.indexOf(answer), 1);
  }

  /** Resolves when the condition holds, or when the connection has ended. */
  async until(holds: () => boolean, ms = limitMs): Promise<void> {
    const isOver = (): boolean => holds() || this.isClosed;
    if (isOver()) return;
    await new Promise<void>((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
      };
      const look = (): void => {
        if (isOver()) resolve(settle());
      };
      const timer = setTimeout(() => {
        settle();
        reject(new NoAnswerError(`No answer within ${ms} ms`));
      }, ms);
      this.#waiting.add(look);
    });
  }

  write(bytes: Buffer): void {
    this.#end.write(bytes);
  }

  /** Ends the connection, but not the session. */
  [Symbol.dispose](): void {
    this.#end.destroy();
  }

  #receive(bytes: Buffer): void {
    if (this.isClosed) throw new Error('The server has written to a connection after it ended it');
    this.bytesReceived += bytes.length;
    for (const frame of this.#splitter.push(bytes)) {
      const body = frame.subarray(4);
      if (this.response === undefined) this.response = readConnectResponse(body);
      else this.answers.push(new Answer(body));
    }
    this.#wake();
  }

  #answersTo(xid: number): Answer[] {
    return this.answers.filter((answer) => answer.xid === xid);
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }
}
