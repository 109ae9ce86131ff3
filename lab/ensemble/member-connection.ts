import { FrameReader, type Incoming } from '../../packages/testing/src/wire/frame-reader.ts';
import { Identities, type Identity } from '../../packages/testing/src/wire/identity.ts';
import type { Caller } from '../../packages/testing/src/tree/replica.ts';
import type { Request } from './messages.ts';

/** One client's connection to one member. */
export class MemberConnection implements Caller {
  /** 0n until the client has named a session, or asked for a new one. */
  sessionId = 0n;
  timeoutMs = 0;
  saysReadOnly = false;
  /** The requests that are not answered yet. The first one waits for the leader. */
  readonly queue: (Request | LocalRequest)[] = [];
  readonly #end: ServerEnd;
  readonly #host: ConnectionHost;
  readonly #reader: FrameReader;
  readonly #identities = new Identities();
  #out: Buffer[] = [];
  #isHeld = false;
  #isClosed = false;

  constructor(end: ServerEnd, host: ConnectionHost) {
    this.#end = end;
    this.#host = host;
    this.#reader = new FrameReader(host.maxBufferBytes, noWords);
    this.#identities.add({ scheme: 'ip', id: '127.0.0.1' });
    end.onData((chunk) => {
      if (this.#isClosed) return;
      this.#reader.push(chunk);
      this.#process();
      this.#host.flush();
    });
    end.onClose(() => this.#ended());
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get identities(): readonly Identity[] {
    return this.#identities.list;
  }

  addIdentity(identity: Identity): void {
    this.#identities.add(identity);
  }

  send(frame: Buffer): void {
    if (this.#isClosed) return;
    this.#out.push(frame);
    if (this.#out.length === 1) this.#host.toFlush(this);
  }

  flush(): void {
    const [first, ...others] = this.#out;
    if (first === undefined) return;
    this.#out = [];
    this.#end.write(others.length === 0 ? first : Buffer.concat([first, ...others]));
  }

  /** Handles no further input until `release`: the session is not open yet. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.#process();
  }

  /** Ends the connection after all frames are written. */
  close(): void {
    if (this.#isClosed) return;
    this.flush();
    this.#ended();
    this.#end.destroy();
  }

  #process(): void {
    while (!this.#isClosed && !this.#isHeld) {
      const incoming = this.#reader.next();
      if (!incoming) return;
      this.#host.incoming(this, incoming);
    }
  }

  #ended(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#out = [];
    this.queue.length = 0;
    this.#host.ended(this);
  }
}

/** The server's end of a client's connection. Bytes that were written before `destroy` still arrive. */
export interface ServerEnd {
  write(chunk: Buffer): void;
  destroy(): void;
  onData(listener: (chunk: Buffer) => void): void;
  /** The client has ended the connection, or the network has. */
  onClose(listener: () => void): void;
}

/** A request that the member answers from its own tree, in its turn. */
export interface LocalRequest {
  /** `throttled`: the member does not carry it out. */
  readonly is: 'local' | 'throttled';
  readonly xid: number;
  readonly opcode: number;
  readonly body: Buffer;
}

/** The member that a connection belongs to. */
export interface ConnectionHost {
  readonly maxBufferBytes: number;
  incoming(connection: MemberConnection, incoming: Incoming): void;
  ended(connection: MemberConnection): void;
  toFlush(connection: MemberConnection): void;
  flush(): void;
}

const noWords: ReadonlySet<string> = new Set();
