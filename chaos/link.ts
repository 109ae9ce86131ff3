import { connect, createServer, type Server, type Socket } from 'node:net';
import { listen, onFreshPorts } from '../lab/servers/free-port.ts';

type Mode =
  | { readonly at: 'open' }
  | { readonly at: 'slow'; readonly delayMs: number }
  /** Half-open: the sockets stay open, but no data passes in either direction. */
  | { readonly at: 'silent' };

interface Lane {
  readonly target: Socket;
  /** The chunks that have arrived, with the time at which each is sent on. */
  readonly queue: { readonly chunk: Buffer | 'end'; readonly dueAt: number }[];
}

/** The connection of one client to one server, with the faults of a network. It keeps the order of the data. */
export class Link implements AsyncDisposable {
  readonly #lanes = new Set<Lane>();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #mode: Mode = { at: 'open' };

  static async to(target: number): Promise<{ link: Link; port: number }> {
    return onFreshPorts(1, async ([port = 0]) => {
      const link = new Link(target);
      await listen(link.#server, port);
      return { link, port };
    });
  }

  private constructor(target: number) {
    this.#server = createServer((near) => {
      const far = connect(target, '127.0.0.1');
      this.#carry(near, far);
      this.#carry(far, near);
    });
  }

  set mode(mode: Mode) {
    this.#mode = mode;
    for (const lane of this.#lanes) this.#pump(lane);
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  #carry(source: Socket, target: Socket): void {
    const lane: Lane = { target, queue: [] };
    this.#lanes.add(lane);
    this.#sockets.add(source);
    source.setNoDelay();
    const arrived = (chunk: Buffer | 'end'): void => {
      lane.queue.push({ chunk, dueAt: performance.now() + (this.#mode.at === 'slow' ? this.#mode.delayMs : 0) });
      this.#pump(lane);
    };
    source.on('data', arrived);
    source.on('error', () => undefined);
    source.on('close', () => {
      this.#sockets.delete(source);
      // A silent link does not forward the end of the other side either.
      arrived('end');
    });
  }

  #pump(lane: Lane): void {
    while (this.#mode.at !== 'silent') {
      const [next] = lane.queue;
      if (next === undefined) return;
      const leftMs = next.dueAt - performance.now();
      if (leftMs > 0) {
        setTimeout(() => this.#pump(lane), leftMs);
        return;
      }
      lane.queue.shift();
      if (next.chunk === 'end') {
        lane.target.destroy();
        this.#lanes.delete(lane);
        return;
      }
      if (!lane.target.destroyed) lane.target.write(next.chunk);
    }
  }
}
