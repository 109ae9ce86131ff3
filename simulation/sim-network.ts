import type { Link, Network } from '../src/zookeeper/network.ts';
import { Random } from '../lab/random.ts';
import { AcceptedEnd } from './accepted-end.ts';
import { phases, type Agenda } from '../lab/virtual/agenda.ts';
import { hasTransaction } from './frames.ts';
import type { Servers } from './servers.ts';
import type { SimProcess } from './sim-process.ts';

/** All connections between the processes and the servers. */
export class SimNetwork {
  readonly agenda: Agenda;
  readonly options: NetworkOptions;
  readonly links = new Set<SimLink>();
  /** The number of messages that were sent so far, in both directions. */
  messages = 0;
  /** Called before each message is sent, with its number: a fault may strike there. */
  onMessage: ((message: Message) => void) | undefined;
  servers: Servers | undefined;
  #connections = 0;
  /** The members that do not run, each with the function that stops a new connection. */
  readonly #stopped = new Map<number, (link: SimLink) => void>();
  /** The routes that are interrupted: nothing passes until they are healed. */
  readonly #blocked = new Map<string, 'refuses' | 'swallows'>();

  constructor(agenda: Agenda, options: NetworkOptions) {
    this.agenda = agenda;
    this.options = options;
  }

  /** @param onWrite called for each request of this client that is a transaction */
  of(process: SimProcess, onWrite: (() => void) | undefined): Network {
    return {
      connect: ({ host }) => {
        const member = Number(/\d+/.exec(host)?.[0] ?? 0);
        const link = new SimLink(this, process, member, (this.#connections += 1), onWrite);
        this.links.add(link);
        link.open();
        return link;
      },
    };
  }

  /** New connections of the process to the member are refused, or are never answered. */
  block(process: SimProcess, member: number, how: 'refuses' | 'swallows'): () => void {
    const route = `${process.name} ${member}`;
    this.#blocked.set(route, how);
    return () => this.#blocked.delete(route);
  }

  blockOf(process: SimProcess, member: number): 'refuses' | 'swallows' | undefined {
    return this.#blocked.get(`${process.name} ${member}`);
  }

  /**
   * The member does not run: it reads and writes nothing, and its kernel goes on accepting connections. Returns a function
   * that lets it go on with all that has arrived.
   */
  stop(member: number): () => void {
    const releases: (() => void)[] = [];
    const hold = (link: SimLink): void => void releases.push(link.hold({ toServer: true, toClient: true }));
    for (const link of this.links) if (link.member === member) hold(link);
    this.#stopped.set(member, hold);
    return () => {
      this.#stopped.delete(member);
      for (const release of releases) release();
    };
  }

  /** The other end of a new connection is in place. */
  accepted(link: SimLink): void {
    this.#stopped.get(link.member)?.(link);
  }

  /** The connections of one client that it has not ended. */
  openLinksOf(process: SimProcess, onWrite: () => void): SimLink[] {
    return this.linksOf(process).filter((link) => link.onWrite === onWrite && !link.destroyed);
  }

  linksOf(process: SimProcess, member?: number): SimLink[] {
    return [...this.links].filter(
      (link) => link.process === process && (member === undefined || link.member === member),
    );
  }
}

export interface NetworkOptions {
  readonly seed: number;
  readonly leastDelayMs: number;
  readonly mostDelayMs: number;
}

/** A message about to be sent. */
export interface Message {
  readonly number: number;
  readonly link: SimLink;
  readonly to: 'server' | 'client';
}

/**
 * One TCP connection. Each direction is first in, first out; two connections do not wait for each other. The client's
 * end is this object; the server's end is a {@link ServerEnd}.
 */
export class SimLink implements Link {
  readonly process: SimProcess;
  readonly member: number;
  readonly number: number;
  /** Also names the client that the link belongs to. */
  readonly onWrite: (() => void) | undefined;
  readonly writableNeedDrain = false;
  destroyed = false;
  errored: Error | null = null;
  readonly #network: SimNetwork;
  readonly #random: Random;
  #extraDelayMs = 0;
  #toServer: Direction = { lastAt: 0, isMute: false, held: undefined };
  #toClient: Direction = { lastAt: 0, isMute: false, held: undefined };
  #server: AcceptedEnd | undefined;
  /** The chunks that have arrived and that the process has not read. */
  readonly #unread: Buffer[] = [];
  #isClosed = false;
  /** True after the first message, the ConnectRequest. */
  #isAttached = false;
  readonly #listeners: { connect?: () => void; data?: (chunk: Buffer) => void; close?: () => void } = {};

  constructor(
    network: SimNetwork,
    process: SimProcess,
    member: number,
    number: number,
    onWrite: (() => void) | undefined,
  ) {
    this.onWrite = onWrite;
    this.#network = network;
    this.process = process;
    this.member = member;
    this.number = number;
    this.#random = new Random(network.options.seed, number);
  }

  on(
    event: 'connect' | 'secureConnect' | 'drain' | 'close' | 'error' | 'data' | 'lookup',
    listener: ((chunk: Buffer) => void) | ((error: Error | null, address: string, family: string | number) => void),
  ): this {
    if (event === 'connect' || event === 'data' || event === 'close')
      this.#listeners[event] = listener as (chunk?: Buffer) => void;
    return this;
  }

  /** The three-way handshake. */
  open(): void {
    if (this.#network.blockOf(this.process, this.member) === 'swallows') return;
    this.#pass('server', () => {
      if (this.#network.blockOf(this.process, this.member) === 'refuses') {
        this.#refuse();
        return;
      }
      const end = new AcceptedEnd(this);
      if (this.#network.servers?.accept(this.member, end) !== true) {
        this.#refuse();
        return;
      }
      this.#server = end;
      this.#pass('client', () => this.#whenProcessRuns(() => this.#listeners.connect?.()));
      this.#network.accepted(this);
    });
  }

  write(chunk: Uint8Array): boolean {
    if (this.destroyed) return true;
    const frames = chunk as Buffer;
    if (this.#isAttached && this.onWrite && hasTransaction(frames)) this.onWrite();
    this.#isAttached = true;
    this.#send('server', () => this.#server?.receive(frames));
    return true;
  }

  /** Messages that were written before still arrive. */
  destroy(error?: Error): void {
    if (this.destroyed) return;
    this.errored = error ?? null;
    this.#pass('server', () => this.#server?.ended());
    this.#closeSoon();
  }

  /** The server's process has written. */
  answer(chunk: Buffer): void {
    this.#send('client', () => {
      this.#unread.push(chunk);
      this.#whenProcessRuns(() => this.#read());
    });
  }

  /** As Node.js does: the process reads all that has arrived since it last ran in one chunk. */
  #read(): void {
    const chunks = this.#unread.splice(0);
    if (chunks.length > 0) this.#listeners.data?.(Buffer.concat(chunks));
  }

  /** The kernel keeps each event in its order while the process does not run. */
  #whenProcessRuns(run: () => void): void {
    const { agenda } = this.#network;
    agenda.add(agenda.now, phases.socket, this.process, () => {
      if (!this.destroyed) run();
    });
  }

  /** The server has closed the connection, after what it wrote. */
  serverEnds(): void {
    this.#pass('client', () => this.#whenProcessRuns(() => this.#closeSoon()));
  }

  /** The connection breaks: what is under way in the given directions is lost, and both ends hear of it. */
  reset(lost: { readonly toServer: boolean; readonly toClient: boolean } = { toServer: true, toClient: true }): void {
    if (lost.toServer) this.#toServer.isMute = true;
    if (lost.toClient) this.#toClient.isMute = true;
    const { agenda } = this.#network;
    agenda.add(Math.max(agenda.now, this.#toServer.lastAt), phases.socket, undefined, () => this.#server?.ended());
    if (this.destroyed) return;
    const closesAt = Math.max(lost.toClient ? 0 : this.#toClient.lastAt, agenda.now + this.#delay());
    agenda.add(closesAt, phases.socket, undefined, () => {
      this.#toClient.isMute = true;
      this.#whenProcessRuns(() => this.#fail('read ECONNRESET'));
    });
  }

  /** From now on nothing arrives in these directions. Returns a function that delivers what was held back meanwhile. */
  hold(held: { readonly toServer: boolean; readonly toClient: boolean }): () => void {
    if (held.toServer) this.#toServer.held ??= [];
    if (held.toClient) this.#toClient.held ??= [];
    return () => {
      for (const direction of [this.#toServer, this.#toClient]) {
        const pending = direction.held;
        direction.held = undefined;
        for (const pass of pending ?? []) pass();
      }
    };
  }

  /** Each message takes longer from now on. */
  slowDown(byMs: number): () => void {
    this.#extraDelayMs += byMs;
    return () => void (this.#extraDelayMs -= byMs);
  }

  #refuse(): void {
    this.#pass('client', () => this.#whenProcessRuns(() => this.#fail('connect ECONNREFUSED')));
  }

  #fail(message: string): void {
    this.errored = new Error(message);
    this.#closeSoon();
  }

  #closeSoon(): void {
    this.destroyed = true;
    const { agenda, links } = this.#network;
    agenda.add(agenda.now, phases.socket, this.process, () => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      links.delete(this);
      this.#listeners.close?.();
    });
  }

  #send(to: 'server' | 'client', arrive: () => void): void {
    const network = this.#network;
    network.messages += 1;
    network.onMessage?.({ number: network.messages, link: this, to });
    this.#pass(to, arrive);
  }

  #pass(to: 'server' | 'client', arrive: () => void): void {
    const direction = to === 'server' ? this.#toServer : this.#toClient;
    if (direction.isMute) return;
    if (direction.held) {
      direction.held.push(() => this.#pass(to, arrive));
      return;
    }
    const { agenda } = this.#network;
    direction.lastAt = Math.max(direction.lastAt, agenda.now + this.#delay());
    agenda.add(direction.lastAt, phases.socket, undefined, () => {
      if (!direction.isMute) arrive();
    });
  }

  #delay(): number {
    const { leastDelayMs, mostDelayMs } = this.#network.options;
    return this.#extraDelayMs + this.#random.between(leastDelayMs, mostDelayMs);
  }
}

interface Direction {
  /** When the newest message arrives. No later one arrives before it. */
  lastAt: number;
  /** True if what is under way never arrives. */
  isMute: boolean;
  /** Messages that wait until the direction is healed. */
  held: (() => void)[] | undefined;
}
