import type { Ensemble } from '../../../lab/ensemble/ensemble.ts';
import { JuteReader, JuteWriter } from '../../../src/testing/jute.ts';
import { errorNumbers, type ErrorName } from '../../../src/testing/refusal.ts';
import { encode, type Request } from '../../contract/embedded/support/request.ts';
import { readConnectResponse, type Ticket } from '../../contract/embedded/support/wire-connection.ts';

const open = [{ perms: 31, scheme: 'world', id: 'anyone' }];

/** One client's connection to one member of an ensemble. It sends only what the test asks for. */
export class WireClient {
  ticket: Ticket = { sessionId: 0n, password: Buffer.alloc(16) };
  timeoutMs = 0;
  isClosed = false;
  /** The answers and events, in the order of their arrival. */
  readonly frames: Frame[] = [];
  #state: 'new' | 'refused' | 'open' = 'new';
  #onData: (chunk: Buffer) => void = () => undefined;
  #onClose: () => void = () => undefined;
  #xid = 0;

  constructor(ensemble: Ensemble, member: number) {
    this.isClosed = !ensemble.accept(member, {
      write: (chunk) => this.#receive(chunk),
      destroy: () => void (this.isClosed = true),
      onData: (listener) => void (this.#onData = listener),
      onClose: (listener) => void (this.#onClose = listener),
    });
  }

  get id(): bigint {
    return this.ticket.sessionId;
  }

  get isOpen(): boolean {
    return this.#state === 'open' && !this.isClosed;
  }

  get isRefused(): boolean {
    return this.#state === 'refused';
  }

  /** True if the server has ended the connection without a ConnectResponse. */
  get isRefusedSilently(): boolean {
    return this.#state === 'new' && this.isClosed;
  }

  /** The newest zxid in an answer. */
  get lastZxid(): bigint {
    return this.frames.reduce((newest, { zxid }) => (zxid > newest ? zxid : newest), 0n);
  }

  connect(timeoutMs: number, ticket = this.ticket, lastZxid = 0n): this {
    const writer = new JuteWriter().int(0).long(lastZxid).int(timeoutMs).long(ticket.sessionId);
    this.#onData(writer.bytes(ticket.password).flag(false).frame());
    return this;
  }

  /** Sends the requests in one chunk. Returns the xid of the last one. */
  send(...requests: readonly Request[]): number {
    this.#onData(Buffer.concat(requests.map((request) => encode((this.#xid += 1), request, 0))));
    return this.#xid;
  }

  create(path: string, flags = 0): number {
    return this.send({ op: 'create2', path, data: '', acl: open, flags, ttl: -1 });
  }

  exists(path: string, watch = false): number {
    return this.send({ op: 'exists', path, watch });
  }

  sync(): number {
    return this.send({ op: 'sync', path: '/' });
  }

  ping(): void {
    this.send({ op: 'ping' });
  }

  /** `ok`, the error of the answer, or undefined if there is no answer. */
  answer(xid: number): 'ok' | ErrorName | undefined {
    const frame = this.frames.find((one) => one.xid === xid);
    if (!frame) return undefined;
    const [name] = Object.entries(errorNumbers).find(([, number]) => number === frame.error) ?? ['ok'];
    return name as 'ok' | ErrorName;
  }

  get pongs(): number {
    return this.frames.filter(({ xid }) => xid === -2).length;
  }

  /** As `deleted /path`. */
  get events(): string[] {
    return this.frames.flatMap(({ event }) => event ?? []);
  }

  /** The client ends its connection. */
  leave(): void {
    this.isClosed = true;
    this.#onClose();
  }

  #receive(chunk: Buffer): void {
    if (this.isClosed) throw new Error('The server has written to a connection after it ended it');
    for (let rest = chunk; rest.length > 0; rest = rest.subarray(4 + rest.readInt32BE(0)))
      this.#read(rest.subarray(4, 4 + rest.readInt32BE(0)));
  }

  #read(body: Buffer): void {
    if (this.#state === 'new') {
      const { ticket, timeoutMs } = readConnectResponse(body);
      Object.assign(this, { ticket, timeoutMs });
      this.#state = ticket.sessionId === 0n ? 'refused' : 'open';
      return;
    }
    const reader = new JuteReader(body, body.length);
    const [xid, zxid, error] = [reader.int(), reader.long(), reader.int()];
    const names = ['', 'created', 'deleted', 'dataChanged', 'childrenChanged'];
    const event =
      xid === -1 ? `${names[reader.int()] ?? ''}${reader.int() === 3 ? ' ' : '?'}${reader.text() ?? ''}` : undefined;
    this.frames.push({ xid, zxid, error, event });
  }
}

interface Frame {
  readonly xid: number;
  readonly zxid: bigint;
  readonly error: number;
  readonly event: string | undefined;
}
