import { createServer, type Server, type Socket } from 'node:net';
import { FrameLog } from './frame-log.ts';
import { giveUpPort, keepPort, listen, listenAgain, onFreshPorts } from './free-port.ts';
import type { Frame, Op } from './zk-frame.ts';
import type { FrameAction } from './zk-lane.ts';
import { ZkLink } from './zk-link.ts';

export type { Frame, FrameAction, Op };

/** Undefined leaves the frame to the next rule, and in the end lets it pass. */
export type FrameRule = (frame: Frame) => FrameAction | undefined;

/** Stands between clients and one ZooKeeper server, sees every frame, and makes the faults of a network. */
export interface ZkProxy extends AsyncDisposable {
  readonly connectString: string;
  readonly port: number;
  /** All that arrived so far, both ways, those included that were dropped or are held. */
  readonly frames: readonly Frame[];
  clear(): void;
  /**
   * Rules are asked in the order in which they came, each frame once, when its turn comes. Returns what removes the
   * rule.
   */
  on(rule: FrameRule): () => void;
  /**
   * Resolves with the `count`-th frame that matches, past ones included, once it was acted on, or arrived in a line of
   * held ones.
   */
  seen(match: (frame: Frame) => boolean, count?: number): Promise<Frame>;
  /** A half-open link: sockets stay as they are, and nothing goes either way, not even the news of a closed socket. */
  silence(): void;
  /** Delivers what was held, by `silence()` or a rule, and goes on. */
  speak(): void;
  /** Destroys all connections. What was held is lost. */
  cut(): void;
  /** Stops listening: new connections are refused, those that are there stay. */
  refuse(): Promise<void>;
  /** Listens again, on the same port. */
  accept(): Promise<void>;
  /** Sends connections made from now on to another server. */
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
    // Its callback is not awaited: it comes when the last connection has ended. The port is closed at once.
    this.#listening.server.close();
    this.#listening = { at: 'refusing' };
    keepPort(this.port);
  }

  async accept(): Promise<void> {
    const before = this.#listening;
    if (before.at === 'accepting') return;
    const server = createServer((socket) => this.#connected(socket));
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
