import type { Socket } from 'node:net';
import { warnOf } from '../../../../src/support/no-context.js';
import { FrameReader, type Incoming } from '../wire/frame-reader.js';
import { Identities, type Identity } from '../wire/identity.js';
import type { Caller } from '../tree/replica.js';

/** One client's socket. It reads and writes frames, but does not know their content. */
export class ServerConnection implements Caller {
  readonly connectedAt: number;
  readonly remoteAddress: string;
  /** 0n until the session is open. */
  sessionId = 0n;
  timeoutMs = 0;
  saysReadOnly = false;
  received = 0;
  sent = 0;
  lastXid = 0;
  readonly #identities = new Identities();
  readonly #socket: Socket;
  readonly #host: ConnectionHost;
  readonly #reader: FrameReader;
  #out: Buffer[] = [];
  #holds = 0;
  readonly #delayed: (() => void)[] = [];
  #isMute = false;
  #state: 'open' | 'closing' | 'closed' = 'open';

  constructor(socket: Socket, host: ConnectionHost, now: number) {
    this.#socket = socket;
    this.#host = host;
    this.connectedAt = now;
    this.#reader = new FrameReader(host.maxBufferBytes, host.words);
    const address = socket.remoteAddress?.replace(/^::ffff:/, '') ?? '';
    this.remoteAddress = `/${address}:${socket.remotePort ?? 0}`;
    this.#identities.add({ scheme: 'ip', id: address });
    socket.setNoDelay(true);
    // A reset connection ends like any other: the event `close` follows.
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.once('close', () => this.#ended());
  }

  get identities(): readonly Identity[] {
    return this.#identities.list;
  }

  addIdentity(identity: Identity): void {
    this.#identities.add(identity);
  }

  send(frame: Buffer): void {
    if (this.#state !== 'open' || this.#isMute) return;
    this.#out.push(frame);
    this.sent += 1;
    this.#host.toFlush(this);
  }

  flush(): void {
    const [first, ...others] = this.#out;
    if (first === undefined) return;
    this.#out = [];
    this.#socket.write(others.length === 0 ? first : Buffer.concat([first, ...others]));
  }

  /** Sends nothing from now on. */
  mute(): void {
    this.#isMute = true;
  }

  /** Stops until `release` was called as many times as `hold`. */
  hold(): void {
    this.#holds += 1;
    this.#socket.pause();
  }

  /** @param first called when the connection goes on, before it reads */
  release(first?: () => void): void {
    if (first) this.#delayed.push(first);
    this.#holds -= 1;
    if (this.#holds > 0 || this.#state !== 'open') return;
    for (const run of this.#delayed.splice(0)) run();
    this.#socket.resume();
    this.#process();
  }

  /** Ends the connection after all sent bytes are written. Bytes that the client sends from now on are not read. */
  close(): void {
    if (this.#state !== 'open') return;
    this.flush();
    this.#state = 'closing';
    this.#socket.destroySoon();
    this.#ended();
  }

  /** Ends the connection at once. Bytes that are not yet written are lost. */
  cut(): void {
    if (this.#state === 'closed') return;
    this.#out = [];
    this.#socket.destroy();
    this.#ended();
  }

  #receive(chunk: Buffer): void {
    this.#reader.push(chunk);
    if (this.#holds === 0) this.#process();
  }

  #process(): void {
    while (this.#state === 'open' && this.#holds === 0) {
      const incoming = this.#reader.next();
      if (!incoming) break;
      this.received += 1;
      this.#handle(incoming);
    }
    this.#host.settled();
  }

  /** The application's clock or random source may throw. The error must not end the test's process. */
  #handle(incoming: Incoming): void {
    try {
      this.#host.incoming(this, incoming);
    } catch (error) {
      this.cut();
      warnOf(error);
    }
  }

  #ended(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#host.ended(this);
  }
}

/** The server that a connection belongs to. */
export interface ConnectionHost {
  readonly maxBufferBytes: number;
  readonly words: ReadonlySet<string>;
  incoming(connection: ServerConnection, incoming: Incoming): void;
  /** All input that has arrived so far is handled, so the resulting frames can be sent. */
  settled(): void;
  ended(connection: ServerConnection): void;
  /** The connection has something to send. */
  toFlush(connection: ServerConnection): void;
}
