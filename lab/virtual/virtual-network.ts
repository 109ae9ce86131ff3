import type { VirtualProcess } from './virtual-process.ts';
import type { VirtualServer } from './virtual-server.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The addresses of this machine, as a network that exists only in memory. */
export class VirtualNetwork {
  readonly time: VirtualTime;
  /** The time that the next message takes, in milliseconds. */
  readonly delayMs: () => number;
  /** The routes on which no connection can be made. */
  readonly #blocked = new Map<string, 'refuses' | 'swallows'>();
  readonly #listeners = new Map<string, VirtualServer>();
  #lastPort = firstPort;

  constructor(time: VirtualTime, delayMs = () => usualMs) {
    this.time = time;
    this.delayMs = delayMs;
  }

  /** New connections of the process to this port are refused, or never answered, until the returned function is called. */
  block(from: VirtualProcess, port: number, how: 'refuses' | 'swallows'): () => void {
    const route = `${from.name} ${port}`;
    this.#blocked.set(route, how);
    return () => this.#blocked.delete(route);
  }

  routeOf(from: VirtualProcess, port: number): 'open' | 'refuses' | 'swallows' {
    return this.#blocked.get(`${from.name} ${port}`) ?? 'open';
  }

  /** A port without a listener, which nothing has used for a long time. */
  freshPort(): number {
    this.#lastPort = this.#lastPort === highestPort ? firstPort : this.#lastPort + 1;
    return this.listenerAt('127.0.0.1', this.#lastPort) ? this.freshPort() : this.#lastPort;
  }

  /** Returns false if another server listens there. */
  listen(server: VirtualServer, address: string, port: number): boolean {
    if (this.listenerAt(address, port)) return false;
    this.#listeners.set(keyOf(address, port), server);
    return true;
  }

  close(address: string, port: number): void {
    this.#listeners.delete(keyOf(address, port));
  }

  listenerAt(address: string, port: number): VirtualServer | undefined {
    const wildcard = address.includes(':') ? '::' : '0.0.0.0';
    return (
      this.#listeners.get(keyOf(address, port)) ??
      this.#listeners.get(keyOf(wildcard, port)) ??
      this.#listeners.get(keyOf('::', port))
    );
  }
}

function keyOf(address: string, port: number): string {
  return `${address} ${port}`;
}

const usualMs = 0.1;
const firstPort = 40_000;
const highestPort = 65_535;
