import { hostOf } from '../src/client/lock-client.ts';
import { systemSurroundings } from '../src/client/surroundings.ts';
import { InterProcessMutex, LockClient, type LockClientOptions } from '../src/index.ts';
import { CountedClock } from './counted-clock.ts';
import { sharedConnectString, sharedZooKeeper } from './hooks.ts';
import { now, sleep, stall, virtualMachine } from './world.ts';
import { connectObserver, type Observer } from './wire/observer.ts';
import { skip } from './skip-without.ts';
import { testPath } from './test-path.ts';
import { startProxy, type Frame, type ZkProxy } from './proxy/zk-proxy.ts';
import { nextState } from './lock-clients.ts';
import { until } from './until.ts';
import { startServer, type ServerOptions, type ZooKeeperServer } from './servers/zookeeper-server.ts';

export interface LabOptions {
  /**
   * A server of the suite's own, which its tests may stop, pause, or reach through a proxy. Without it the tests use
   * the shared ZooKeeper.
   */
  readonly server?: 'own' | ServerOptions;
  /**
   * Lets `client`, and the clients of `connect`, reach the server through a proxy. Needs a server of the suite's own.
   */
  readonly proxy?: boolean;
  /** Options of `client`; `none` if each test opens its own clients. */
  readonly client?: LockClientOptions | 'none';
}

/** The fixture of each test. All of it except the server is new for each test. */
export interface Lab {
  /** The path of the lock. */
  readonly path: string;
  readonly client: LockClient;
  /** Another client, with default options and without a proxy. */
  readonly other: LockClient;
  /** The lock, used by `client`. */
  readonly mutex: InterProcessMutex;
  /** The same lock, used by `other`. */
  readonly theirs: InterProcessMutex;
  readonly observer: Observer;
  readonly proxy: ZkProxy;
  readonly server: ZooKeeperServer;
  /** The connect string of the server, not of the proxy. */
  readonly connectString: string;
  /**
   * Opens another client, which is closed after the test. It connects through the proxy, unless another `connectString`
   * is given.
   */
  connect(options?: LockClientOptions, connectString?: string): Promise<LockClient>;
  /**
   * Ends the session of `client`, or of another client behind the proxy, on the server. Until it has ended, the proxy
   * refuses connections, because otherwise the client might attach to its session once more.
   */
  endSession(client?: LockClient): Promise<void>;
  /**
   * Cuts the connection of `client`, or of another client behind the proxy, which refuses connections from now on.
   * Resolves when the client, which is connected until then, is suspended.
   */
  disconnect(client?: LockClient): Promise<void>;
  /** Milliseconds of a clock that only goes forward. In the virtual world only events move it. */
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Blocks the event loop of this process: see `stall` of `world.ts`. */
  stall(ms: number): void;
  /** Resolves when this number of znodes is in the queue of the lock, or of another lock. */
  queueReaches(count: number, path?: string): Promise<void>;
  /** The requests that `client` has sent about the lock. All of them have been answered. */
  requests(): Promise<Frame['op'][]>;
}

/**
 * Creates the fixture of a suite: call it in a `describe`. After each test it closes the clients, then the observer,
 * then the proxy. On virtual time, a timer that a closed client has left fails the test.
 *
 * @example
 * const lab = labOfEachTest('grants', { server: 'own', proxy: true, client: { sessionTimeoutMs: 2_000 } });
 */
export function labOfEachTest(name: string, options: LabOptions = {}): Lab {
  if (options.proxy && !options.server) throw new TypeError('A proxy needs a server of the suite’s own: set `server`');
  const lab = new OpenLab(name, options);
  before(function () {
    if (!virtualMachine && isImitation(options)) skip(this, 'a real server imitates no other one, and has no pace');
    return lab.startServer();
  });
  beforeEach(() => lab.open());
  afterEach(() => lab.close());
  after(() => lab.stopServer());
  return lab;
}

/** True for a server that only the virtual world has. */
function isImitation({ server }: LabOptions): boolean {
  if (server === undefined || server === 'own') return false;
  return (server.keeper ?? server.answersPerSecond ?? server.version) !== undefined;
}

/** A short limit, because a test whose server is stopped does not wait for the server. */
const closing = { timeoutMs: 500 };

class OpenLab implements Lab {
  path = '';
  client!: LockClient;
  other!: LockClient;
  mutex!: InterProcessMutex;
  theirs!: InterProcessMutex;
  observer!: Observer;
  readonly now = now;
  readonly sleep = sleep;
  readonly stall = stall;
  #server: ZooKeeperServer | undefined;
  #proxy: ZkProxy | undefined;
  readonly #clients = new Map<LockClient, CountedClock>();
  readonly #name: string;
  readonly #options: LabOptions;

  constructor(name: string, options: LabOptions) {
    this.#name = name;
    this.#options = options;
  }

  get connectString(): string {
    return this.#server?.connectString ?? sharedConnectString();
  }

  get server(): ZooKeeperServer {
    if (!this.#server) throw new Error("This lab has no server of its own: set `server: 'own'`");
    return this.#server;
  }

  get proxy(): ZkProxy {
    if (!this.#proxy) throw new Error('This lab has no proxy: set `proxy: true`');
    return this.#proxy;
  }

  async connect(
    options?: LockClientOptions,
    connectString = this.#proxy?.connectString ?? this.connectString,
  ): Promise<LockClient> {
    const clock = new CountedClock();
    const client = await LockClient.connectIn({ ...systemSurroundings, clock }, connectString, options);
    this.#clients.set(client, clock);
    return client;
  }

  async endSession(client = this.client): Promise<void> {
    await this.proxy.refuse();
    await this.observer.endSession(client);
    await this.proxy.accept();
  }

  async disconnect(client = this.client): Promise<void> {
    await this.proxy.refuse();
    const state = nextState(client);
    this.proxy.cut();
    if ((await state) !== 'suspended') throw new Error(`The client was cut off, and is ${await state}`);
  }

  queueReaches(count: number, path = this.path): Promise<void> {
    return until(`${count} znodes are in the queue`, async () => (await this.observer.children(path)).length === count);
  }

  async requests(): Promise<Frame['op'][]> {
    // One connection answers in order.
    await new InterProcessMutex(this.client, testPath('fence')).participants();
    return this.proxy.frames
      .filter(({ from, path }) => from === 'client' && path?.startsWith(this.path))
      .map(({ op }) => op);
  }

  async startServer(): Promise<void> {
    const { server } = this.#options;
    if (server) this.#server = await startServer(server === 'own' ? {} : server);
    else await sharedZooKeeper();
  }

  async open(): Promise<void> {
    const { proxy, client = {} } = this.#options;
    this.path = testPath(this.#name);
    if (proxy) this.#proxy = await startProxy(this.server.port);
    const observing = connectObserver(this.connectString).then((observer) => (this.observer = observer));
    if (client === 'none') {
      await observing;
      return;
    }
    [this.client, this.other] = await Promise.all([
      this.connect(client),
      this.connect({}, this.connectString),
      observing,
    ]);
    this.mutex = new InterProcessMutex(this.client, this.path);
    this.theirs = new InterProcessMutex(this.other, this.path);
  }

  async close(): Promise<void> {
    const clients = [...this.#clients];
    this.#clients.clear();
    const waiting = clients.map(([client]) => hostOf(client).deadlines.size).filter((size) => size > 0);
    await Promise.all(clients.map(([client]) => client.close(closing)));
    await this.observer[Symbol.asyncDispose]();
    await this.#proxy?.close();
    if (!virtualMachine) return;
    for (const [, clock] of clients) clock.expectNoTimer();
    if (waiting.length > 0)
      throw new Error(
        `Expected no call to wait at the end of the test, but the clients have deadlines: ${waiting.join(', ')}`,
      );
  }

  async stopServer(): Promise<void> {
    await this.#server?.stop();
  }
}
