import { AsyncResource } from 'node:async_hooks';
import dns from 'node:dns';
import { isIP, type AddressInfo, type LookupFunction, type ServerOpts } from 'node:net';
import { Duplex } from 'node:stream';
import { phases } from './agenda.ts';
import { errnoError } from './errno-error.ts';
import { Lane } from './lane.ts';
import type { VirtualNetwork } from './virtual-network.ts';
import type { VirtualProcess } from './virtual-process.ts';

/** The options of `net.connect` that this project uses. */
export interface ConnectOptions {
  readonly host?: string | undefined;
  readonly port: number | string;
  readonly lookup?: LookupFunction | undefined;
}

interface Place {
  readonly address: string;
  readonly port: number;
}

/** `net.Socket` of Node in a virtual network: one end of a connection. Each direction is first in, first out. */
export class VirtualSocket extends Duplex {
  readonly owner: VirtualProcess;
  connecting = false;
  bytesRead = 0;
  bytesWritten = 0;
  remoteAddress: string | undefined;
  remotePort: number | undefined;
  localAddress: string | undefined;
  localPort: number | undefined;
  readonly #network: VirtualNetwork;
  readonly #resource = new AsyncResource('TCPWRAP');
  /** The direction from the peer to this end. */
  readonly arrivals: Lane;
  #peer: VirtualSocket | undefined;
  /** The bytes that the peer has sent and that have not arrived yet. */
  #underWay = 0;
  /** What has arrived in one go. */
  readonly #unread: Buffer[] = [];
  #hasSentEnd = false;
  #whenConnected: (() => void)[] = [];
  #whenRead: (() => void) | undefined;
  #idleMs = 0;
  #cancelIdle: (() => void) | undefined;

  static connect(network: VirtualNetwork, options: ConnectOptions, connected?: () => void): VirtualSocket {
    const socket = new VirtualSocket(network);
    if (connected) socket.once('connect', connected);
    socket.#connect(options);
    return socket;
  }

  /** The server's end of a connection. */
  static accepted(
    network: VirtualNetwork,
    peer: VirtualSocket,
    { allowHalfOpen, pauseOnConnect }: ServerOpts,
  ): VirtualSocket {
    const socket = new VirtualSocket(network, allowHalfOpen);
    socket.#link(peer);
    if (pauseOnConnect) socket.pause();
    return socket;
  }

  constructor(network: VirtualNetwork, allowHalfOpen = false) {
    super({ allowHalfOpen, emitClose: false, decodeStrings: true });
    this.#network = network;
    const { process } = network.time;
    this.owner = process;
    this.arrivals = new Lane({
      now: () => process.at,
      delayMs: () => network.delayMs(this.#serverPort, this.#place.address || (this.localAddress ?? '')),
      at: (time, run) =>
        network.time.addAt(process.readsAt(time), phases.socket, run, { whose: process, resource: this.#resource }),
      arrived: () => this.#pushUnread(),
    });
  }

  get pending(): boolean {
    return this.connecting;
  }

  get remoteFamily(): string | undefined {
    return this.remoteAddress === undefined ? undefined : familyOf(this.remoteAddress);
  }

  address(): AddressInfo | object {
    const { localAddress: address, localPort: port } = this;
    return address === undefined ? {} : { address, port, family: familyOf(address) };
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  /** Emits 'timeout' once when no byte has passed for this time. 0 ends it. */
  setTimeout(idleMs: number, timedOut?: () => void): this {
    this.#idleMs = idleMs;
    if (timedOut) this.once('timeout', timedOut);
    this.#watchIdle();
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  resetAndDestroy(): this {
    this.#tell((peer) => peer.#reset());
    this.#hasSentEnd = true;
    return this.destroy();
  }

  /** The other end; undefined until this socket is connected. */
  get peer(): VirtualSocket | undefined {
    return this.#peer;
  }

  /** The connection breaks, and both ends learn it. */
  break(): void {
    this.#tell((peer) => peer.#reset());
    this.arrivals.send(() => this.#reset());
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.connecting) {
      this.#whenConnected.push(() => this._write(chunk, _encoding, done));
      return;
    }
    const peer = this.#peer;
    if (!peer) return done(errnoError('write', 'EPIPE'));
    const bytes = Buffer.from(chunk);
    this.bytesWritten += bytes.length;
    this.#watchIdle();
    peer.#underWay += bytes.length;
    // A narrow link passes a long message in parts.
    const partBytes = peer.arrivals.bytesPerSecond === Infinity ? bytes.length : packetBytes;
    for (let at = 0; at < bytes.length; at += partBytes) {
      const part = bytes.subarray(at, at + partBytes);
      this.#tell(() => peer.#receive(part), part.length);
    }
    // The buffers of the two systems are full: the write ends when the peer has read.
    if (peer.#underWay + peer.readableLength > systemBufferBytes) peer.#whenRead = done;
    else done();
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'buffer', done);
  }

  /** Node calls it when the buffer is about to be empty. */
  override _read(): void {
    const done = this.#whenRead;
    if (!done) return;
    this.#whenRead = undefined;
    this.#tell(() => done());
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.connecting) this.#whenConnected.push(() => this._final(done));
    else {
      this.#sendEnd();
      done();
    }
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.connecting = false;
    this.#cancelIdle?.();
    const hasUnread = this.readableLength > 0;
    if (hasUnread) this.#tell((peer) => peer.#reset());
    else this.#sendEnd();
    done(error);
    this.#later(0, phases.check, () => this.emit('close', error !== null));
  }

  /** No server listens at the place that this socket dials. */
  refused(): void {
    this.arrivals.send(() => this.#failed('ECONNREFUSED'));
  }

  /** The port that was dialled, at both ends. */
  get #serverPort(): number {
    return this.#place.port === 0 ? (this.localPort ?? 0) : this.#place.port;
  }

  #place: Place = { address: '', port: 0 };
  #failed: (code: string) => void = () => undefined;

  #connect({ host = 'localhost', port, lookup = dns.lookup }: ConnectOptions): void {
    this.connecting = true;
    if (isIP(host) !== 0) {
      this.#dial([{ address: host, port: Number(port) }], []);
      return;
    }
    lookup(host, { all: true, family: 0, hints: 0 }, (error, found) => {
      if (this.destroyed) return;
      const addresses = (Array.isArray(found) ? found : []) as { address: string; family: number }[];
      if (error) this.emit('lookup', error, undefined, undefined, host);
      for (const { address, family } of addresses) this.emit('lookup', null, address, family, host);
      if (error) this.destroy(error);
      else
        this.#dial(
          addresses.map(({ address }) => ({ address, port: Number(port) })),
          [],
        );
    });
  }

  /** Tries one address after another, each for 250 ms as Node does, and the last one without a limit. */
  #dial([place, ...others]: readonly Place[], errors: readonly Error[]): void {
    if (!place) {
      const [first = errnoError('connect', 'ENETUNREACH')] = errors;
      this.destroy(
        errors.length > 1
          ? Object.assign(new AggregateError(errors), { code: (first as NodeJS.ErrnoException).code })
          : first,
      );
      return;
    }
    let isOver = false;
    const next = (error: Error): void => {
      if (isOver || !this.connecting) return;
      isOver = true;
      this.#dial(others, [...errors, error]);
    };
    this.#place = place;
    this.#failed = (code) => next(errnoError('connect', code, place.address, place.port));
    if (others.length > 0)
      this.#later(familyAttemptMs, phases.timer, () =>
        next(errnoError('connect', 'ETIMEDOUT', place.address, place.port)),
      );
    // A packet to another machine arrives nowhere, and nothing comes back.
    if (!isHere(place.address) || !this.#network.dial(place.port)) return;
    const arrive = (): void => {
      if (isOver || !this.connecting) return;
      const route = this.#network.routeOf(this.owner, place.port);
      if (route === 'swallows') return;
      const listener = route === 'open' ? this.#network.listenerAt(place.address, place.port) : undefined;
      if (listener) listener.accept(this);
      else this.refused();
    };
    if (this.#network.listenerAt(place.address, place.port))
      this.#later(this.#network.delayMs(place.port, place.address), phases.socket, arrive);
    else arrive();
  }

  #link(peer: VirtualSocket): void {
    this.#peer = peer;
    this.remoteAddress = familyOf(peer.#place.address) === 'IPv6' ? '::1' : '127.0.0.1';
    this.remotePort = this.#network.freshPort();
    this.localAddress = peer.#place.address;
    this.localPort = peer.#place.port;
    const { remotePort } = this;
    this.#tell(() => {
      // The dialling socket may be gone by now.
      if (!peer.connecting) return this.arrivals.send(() => this.push(null));
      peer.#peer = this;
      peer.connecting = false;
      peer.remoteAddress = peer.#place.address;
      peer.remotePort = peer.#place.port;
      peer.localAddress = this.remoteAddress;
      peer.localPort = remotePort;
      for (const run of peer.#whenConnected.splice(0)) run();
      peer.emit('connect');
      peer.emit('ready');
      peer.read(0);
    });
  }

  #receive(bytes: Buffer): void {
    this.#underWay -= bytes.length;
    // A closed socket answers what still arrives with a reset.
    if (this.destroyed) return this.#tell((peer) => peer.#reset());
    this.bytesRead += bytes.length;
    this.#watchIdle();
    this.#unread.push(bytes);
  }

  /** As Node.js does: the process gets all that has arrived since it last ran in one chunk. */
  #pushUnread(): void {
    const chunks = this.#unread.splice(0);
    if (chunks.length > 0 && !this.destroyed) this.push(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
  }

  #receiveEnd(): void {
    this.#pushUnread();
    if (this.destroyed) return;
    this.push(null);
    this.read(0);
  }

  #reset(): void {
    this.#pushUnread();
    if (!this.destroyed) this.destroy(errnoError('read', 'ECONNRESET'));
  }

  #sendEnd(): void {
    if (this.#hasSentEnd) return;
    this.#hasSentEnd = true;
    this.#tell((peer) => peer.#receiveEnd());
  }

  #watchIdle(): void {
    this.#cancelIdle?.();
    if (this.#idleMs > 0) this.#cancelIdle = this.#later(this.#idleMs, phases.timer, () => this.emit('timeout'));
  }

  /** Sends a message: `arrived` runs at the peer when it has arrived, after all earlier ones. */
  #tell(arrived: (peer: VirtualSocket) => void, bytes = 0): void {
    const peer = this.#peer;
    if (!peer) return;
    peer.arrivals.send(() => arrived(peer), this.owner.at, bytes);
  }

  #later(delayMs: number, phase: (typeof phases)[keyof typeof phases], run: () => void): () => void {
    return this.#network.time.add(delayMs, phase, run, { whose: this.owner, resource: this.#resource });
  }
}

/** As large as the buffers of two sockets on one machine. */
const systemBufferBytes = 2 ** 21;
const packetBytes = 512;
const familyAttemptMs = 250;

function familyOf(address: string): string {
  return address.includes(':') ? 'IPv6' : 'IPv4';
}

function isHere(address: string): boolean {
  return address.startsWith('127.') || address === '::1' || address === '::' || address === '0.0.0.0';
}
