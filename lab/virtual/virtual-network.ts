import type { VirtualProcess } from './virtual-process.ts';
import type { VirtualServer } from './virtual-server.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The addresses of this machine, as a network that exists only in memory. */
export class VirtualNetwork {
  readonly time: VirtualTime;
  readonly #delayMs: () => number;
  /** The routes on which no connection can be made. */
  readonly #blocked = new Map<string, 'refuses' | 'swallows'>();
  readonly #listeners = new Map<string, VirtualServer>();
  readonly #far = new Map<string, number>();
  readonly #swallowed = new Set<number>();
  readonly #dials = new Map<number, number>();
  readonly #extraMs = new Map<number, number>();
  #lastPort = firstPort;

  /** @param delayMs draws the time that the next message takes on this machine, in milliseconds */
  constructor(time: VirtualTime, delayMs = () => usualMs) {
    this.time = time;
    this.#delayMs = delayMs;
  }

  /** The time that a message takes, in milliseconds, on a connection to this port of this address. */
  delayMs(port: number, address: string): number {
    const extraMs = (this.#extraMs.get(port) ?? 0) + (this.#far.get(address) ?? 0);
    return this.#delayMs() + extraMs;
  }

  /** Each message on a connection to this address takes longer. Returns a function that ends this. */
  makeFar(address: string, byMs: number): () => void {
    this.#far.set(address, byMs);
    return () => this.#far.delete(address);
  }

  /** Each message on a connection to this port takes so much longer, in both directions. */
  delay(port: number, extraMs: number): void {
    this.#extraMs.set(port, extraMs);
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

  /** Packets of new connections to this port arrive nowhere, until `pass`. Connections that exist stay. */
  swallow(port: number): void {
    this.#swallowed.add(port);
  }

  pass(port: number): void {
    this.#swallowed.delete(port);
  }

  /** A socket dials this port. Returns false if its packets arrive nowhere. */
  dial(port: number): boolean {
    this.#dials.set(port, this.dialsTo(port) + 1);
    return !this.#swallowed.has(port);
  }

  /** The number of times that this port was dialled, also in vain. */
  dialsTo(port: number): number {
    return this.#dials.get(port) ?? 0;
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

/** The time of a message, in milliseconds, where nothing draws it. */
export const usualMs = 0.1;
const firstPort = 40_000;
const highestPort = 65_535;
