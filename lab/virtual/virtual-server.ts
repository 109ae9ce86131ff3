import { AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import type { AddressInfo, ListenOptions, ServerOpts } from 'node:net';
import { phases } from './agenda.ts';
import { errnoError } from './errno-error.ts';
import type { VirtualNetwork } from './virtual-network.ts';
import type { VirtualProcess } from './virtual-process.ts';
import { VirtualSocket } from './virtual-socket.ts';

type State = { at: 'closed' } | { at: 'listening'; address: string; port: number };

/** `net.Server` of Node in a virtual network. */
export class VirtualServer extends EventEmitter {
  readonly owner: VirtualProcess;
  readonly options: ServerOpts;
  readonly #network: VirtualNetwork;
  readonly #sockets = new Set<VirtualSocket>();
  readonly #resource = new AsyncResource('TCPSERVERWRAP');
  #state: State = { at: 'closed' };
  #isClosing = false;

  constructor(network: VirtualNetwork, options: ServerOpts = {}, accepted?: (socket: VirtualSocket) => void) {
    super();
    this.#network = network;
    this.options = options;
    this.owner = network.time.process;
    if (accepted) this.on('connection', accepted);
  }

  get listening(): boolean {
    return this.#state.at === 'listening';
  }

  address(): AddressInfo | null {
    if (this.#state.at === 'closed') return null;
    const { address, port } = this.#state;
    return { address, port, family: address.includes(':') ? 'IPv6' : 'IPv4' };
  }

  listen(...args: unknown[]): this {
    const { port, host, listening } = listenArguments(args);
    if (listening) this.once('listening', listening);
    const address = host === undefined ? '::' : host === 'localhost' ? '127.0.0.1' : host;
    const bound = port === 0 ? this.#network.freshPort() : port;
    const isBound = this.#network.listen(this, address, bound);
    if (isBound) this.#state = { at: 'listening', address, port: bound };
    this.#later(() => {
      if (isBound) this.emit('listening');
      else this.emit('error', errnoError('listen', 'EADDRINUSE', address, bound));
    });
    return this;
  }

  /** Takes no new connection. The event 'close' follows the end of the last one. */
  close(closed?: (error?: Error) => void): this {
    if (this.#state.at === 'closed') {
      if (closed)
        this.#later(() =>
          closed(Object.assign(new Error('Server is not running.'), { code: 'ERR_SERVER_NOT_RUNNING' })),
        );
      return this;
    }
    if (closed) this.once('close', () => closed());
    this.#network.close(this.#state.address, this.#state.port);
    this.#state = { at: 'closed' };
    this.#isClosing = true;
    this.#closeIfEmpty();
    return this;
  }

  getConnections(tell: (error: Error | null, count: number) => void): void {
    this.#later(() => tell(null, this.#sockets.size));
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.close(resolve));
  }

  /** A client's connection has arrived. */
  accept(peer: VirtualSocket): void {
    if (this.#state.at === 'closed') return peer.refused();
    const socket = this.#network.time.as(this.owner, () =>
      this.#resource.runInAsyncScope(() => VirtualSocket.accepted(this.#network, peer, this.options)),
    );
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#closeIfEmpty();
    });
    this.#later(() => this.emit('connection', socket));
  }

  #closeIfEmpty(): void {
    if (!this.#isClosing || this.#sockets.size > 0) return;
    this.#isClosing = false;
    this.#later(() => this.emit('close'));
  }

  #later(run: () => void): void {
    this.#network.time.add(0, phases.socket, run, { whose: this.owner, resource: this.#resource });
  }
}

function listenArguments(args: unknown[]): { port: number; host?: string; listening?: () => void } {
  const listening = args.find((each): each is () => void => typeof each === 'function');
  const [first, second] = args;
  const { port, host } =
    typeof first === 'object' && first !== null
      ? (first as ListenOptions)
      : { port: first as number | undefined, host: typeof second === 'string' ? second : undefined };
  return { port: port ?? 0, ...(host !== undefined && { host }), ...(listening && { listening }) };
}
