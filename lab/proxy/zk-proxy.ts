import { createServer, type Server, type Socket } from 'node:net';
import { virtualMachine } from '../world.ts';
import { FrameLog } from './frame-log.ts';
import { giveUpPort, keepPort, listen, listenAgain, onFreshPorts } from '../servers/free-port.ts';
import { behindTls } from '../servers/tls-front.ts';
import type { Frame, Op } from './zk-frame.ts';
import type { FrameAction } from './zk-lane.ts';
import { ZkLink } from './zk-link.ts';

export type { Frame, FrameAction, Op };

/** Returns undefined to leave the frame to the next rule. Without a rule the frame passes. */
export type FrameRule = (frame: Frame) => FrameAction | undefined;

/**
 * The treatment of new connections, while those that exist stay as they are:
 * - `refused`: nobody listens.
 * - `swallowed`: the first packet is never answered. Only in the virtual world.
 * - `closed`: accepted, and closed before a byte is read, as by a full server, or by a balancer without a backend.
 * - `silent`: accepted, and nothing ever comes back, as from a TLS handshake that never ends.
 */
export type Newcomers = 'served' | 'refused' | 'swallowed' | 'closed' | 'silent';

/** A proxy between clients and one ZooKeeper server that sees every frame and causes network faults. */
export interface ZkProxy extends AsyncDisposable {
  readonly connectString: string;
  readonly port: number;
  /** All frames that arrived, in both directions, including dropped and held ones. */
  readonly frames: readonly Frame[];
  clear(): void;
  /**
   * Adds a rule. Each frame asks the rules once, in the order in which they were added, when the frame would be sent.
   * Returns a function that removes the rule.
   */
  on(rule: FrameRule): () => void;
  /**
   * Resolves with the `count`-th frame that matches, also a past one, after its action, or when it arrived behind held
   * frames.
   */
  seen(match: (frame: Frame) => boolean, count?: number): Promise<Frame>;
  /** Makes the links half-open: sockets stay as they are, and no bytes pass in either direction, not even a close. */
  silence(): void;
  /** Delivers the frames that `silence()` or a rule held, and continues. */
  speak(): void;
  /** Destroys all connections. Held frames are lost. */
  cut(): void;
  /** Stops listening: new connections are refused, existing ones stay. */
  refuse(): Promise<void>;
  /** Listens again on the same port. */
  accept(): Promise<void>;
  admit(newcomers: Newcomers): Promise<void>;
  /** The number of connections so far. In the virtual world also of those that were refused or swallowed. */
  readonly dials: number;
  /** Lets all connections have this round trip, and new ones too. Only in the virtual world. */
  roundTrip(ms: number): void;
  /** Connects later connections to another server. */
  retarget(port: number): void;
  close(): Promise<void>;
}

/**
 * @example
 * await using proxy = await startProxy(server.port);
 * proxy.on((frame) => (frame.from === 'server' && frame.op === 'create2' ? 'cut' : undefined));
 */
export async function startProxy(target: number): Promise<ZkProxy> {
  return onFreshPorts(1, async ([port = 0]) => {
    const proxy = new LocalProxy(port, target);
    await proxy.accept();
    return proxy;
  });
}

type Listening = { at: 'nothing' } | { at: 'refusing' } | { at: 'accepting'; server: Server };

class LocalProxy implements ZkProxy {
  readonly port: number;
  readonly connectString: string;
  readonly #log = new FrameLog();
  readonly #rules = new Set<FrameRule>();
  readonly #links = new Set<ZkLink>();
  #target: number;
  #connections = 0;
  #accepted = 0;
  #newcomers: Newcomers = 'served';
  /** The connections that get no answer. */
  readonly #strangers = new Set<Socket>();
  #silent = false;
  #listening: Listening = { at: 'nothing' };

  constructor(port: number, target: number) {
    this.port = port;
    this.connectString = `127.0.0.1:${port}`;
    this.#target = target;
  }

  get frames(): readonly Frame[] {
    return this.#log.frames;
  }

  clear(): void {
    this.#log.clear();
  }

  on(rule: FrameRule): () => void {
    this.#rules.add(rule);
    return () => void this.#rules.delete(rule);
  }

  seen(match: (frame: Frame) => boolean, count?: number): Promise<Frame> {
    return this.#log.seen(match, count);
  }

  silence(): void {
    this.#silent = true;
    for (const link of this.#links) link.hold();
  }

  speak(): void {
    this.#silent = false;
    for (const link of this.#links) link.release();
  }

  cut(): void {
    for (const link of this.#links) link.cut();
  }

  async refuse(): Promise<void> {
    if (this.#listening.at !== 'accepting') return;
    // The callback is not awaited, because it runs when the last connection has ended. The port is closed at once.
    this.#listening.server.close();
    this.#listening = { at: 'refusing' };
    keepPort(this.port);
  }

  async accept(): Promise<void> {
    const before = this.#listening;
    if (before.at === 'accepting') return;
    const server = createServer((socket) => this.#arrived(socket));
    this.#listening = { at: 'accepting', server };
    try {
      await (before.at === 'nothing' ? listen(server, this.port) : listenAgain(server, this.port));
    } catch (error) {
      this.#listening = before;
      throw error;
    }
  }

  async admit(newcomers: Newcomers): Promise<void> {
    const network = virtualMachine?.network;
    if (newcomers === 'swallowed' && !network) throw new Error('Only the virtual world swallows connections');
    this.#newcomers = newcomers;
    if (newcomers === 'swallowed') network?.swallow(this.port);
    else network?.pass(this.port);
    await (newcomers === 'refused' ? this.refuse() : this.accept());
  }

  get dials(): number {
    return virtualMachine?.network.dialsTo(this.port) ?? this.#accepted;
  }

  roundTrip(ms: number): void {
    if (!virtualMachine) throw new Error('Only the virtual world has long round trips');
    virtualMachine.network.delay(this.port, ms / 2);
  }

  retarget(port: number): void {
    this.#target = port;
  }

  async close(): Promise<void> {
    await this.refuse();
    giveUpPort(this.port);
    this.#listening = { at: 'nothing' };
    this.#log.close();
    this.cut();
    for (const socket of this.#strangers) socket.destroy();
    virtualMachine?.network.pass(this.port);
    virtualMachine?.network.delay(this.port, 0);
    await Promise.all([...this.#links].map((link) => link.ended));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #arrived(socket: Socket): void {
    this.#accepted += 1;
    if (this.#newcomers === 'served') {
      behindTls(socket, (plain) => this.#connected(plain));
      return;
    }
    socket.on('error', () => undefined);
    if (this.#newcomers === 'closed') {
      socket.destroy();
      return;
    }
    this.#strangers.add(socket);
    socket.resume().once('close', () => this.#strangers.delete(socket));
  }

  #connected(client: Socket): void {
    const link = new ZkLink(++this.#connections, client, this.#target, {
      judge: (frame) => this.#judge(frame),
      arrived: (frame) => this.#log.add(frame),
    });
    if (this.#silent) link.hold();
    this.#links.add(link);
    void link.ended.then(() => this.#links.delete(link));
  }

  #judge(frame: Frame): FrameAction {
    for (const rule of this.#rules) {
      const action = rule(frame);
      if (action !== undefined) return action;
    }
    return 'pass';
  }
}
