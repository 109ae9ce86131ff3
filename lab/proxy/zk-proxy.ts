import { createServer, type Server, type Socket } from 'node:net';
import { FrameLog } from './frame-log.ts';
import { giveUpPort, keepPort, listen, listenAgain, onFreshPorts } from '../servers/free-port.ts';
import { behindTls } from '../servers/tls-front.ts';
import type { Frame, Op } from './zk-frame.ts';
import type { FrameAction } from './zk-lane.ts';
import { ZkLink } from './zk-link.ts';

export type { Frame, FrameAction, Op };

/** Returns undefined to leave the frame to the next rule. Without a rule the frame passes. */
export type FrameRule = (frame: Frame) => FrameAction | undefined;

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
    const server = createServer((socket) => behindTls(socket, (plain) => this.#connected(plain)));
    this.#listening = { at: 'accepting', server };
    try {
      await (before.at === 'nothing' ? listen(server, this.port) : listenAgain(server, this.port));
    } catch (error) {
      this.#listening = before;
      throw error;
    }
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
    await Promise.all([...this.#links].map((link) => link.ended));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
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
