import { InterProcessMutex, LockClient, type LockClientOptions } from '../src/index.ts';
import { sharedConnectString, sharedZooKeeper } from './hooks.ts';
import { connectObserver, type Observer } from './observer.ts';
import { testPath } from './test-path.ts';
import { startProxy, type Frame, type ZkProxy } from './zk-proxy.ts';
import { startServer, type ServerOptions, type ZooKeeperServer } from './zookeeper-server.ts';

export interface LabOptions {
  /**
   * A server of the suite's own, which its tests may stop, starve, or reach through a proxy. Without it they use the
   * shared ZooKeeper.
   */
  readonly server?: 'own' | ServerOptions;
  /** `client`, and those that `connect` opens, reach the server through a proxy. Needs a server of the suite's own. */
  readonly proxy?: boolean;
  /** Options of `client`; `none` where each test opens clients of its own. */
  readonly client?: LockClientOptions | 'none';
}

/** What each test of a suite finds: all of it is new for the test, except for the server. */
export interface Lab {
  /** Of the lock. */
  readonly path: string;
  readonly client: LockClient;
  /** Another client, which has default options, and no proxy before it. */
  readonly other: LockClient;
  /** The lock, by `client`. */
  readonly mutex: InterProcessMutex;
  /** The same lock, by `other`. */
  readonly theirs: InterProcessMutex;
  readonly observer: Observer;
  readonly proxy: ZkProxy;
  readonly server: ZooKeeperServer;
  /** Of the server, and not of the proxy. */
  readonly connectString: string;
  /**
   * One client more, which is closed after the test. It goes through the proxy, unless another `connectString` is
   * given.
   */
  connect(options?: LockClientOptions, connectString?: string): Promise<LockClient>;
  /** What `client` has sent about the lock so far; nothing of it is under way any more. */
  requests(): Promise<Frame['op'][]>;
}

/**
 * The fixture of a suite: call it in a `describe`. After each test the clients are closed, then the observer, then the
 * proxy.
 *
 * @example
 * const lab = labOfEachTest('grants', { server: 'own', proxy: true, client: { sessionTimeoutMs: 2_000 } });
 */
export function labOfEachTest(name: string, options: LabOptions = {}): Lab {
  if (options.proxy && !options.server)
    throw new TypeError('A proxy stands before one server: give the suite one of its own');
  const lab = new OpenLab(name, options);
  before(() => lab.startServer());
  beforeEach(() => lab.open());
  afterEach(() => lab.close());
  after(() => lab.stopServer());
  return lab;
}

/** A test that has lost its server does not wait for it. */
const closing = { timeoutMs: 500 };

class OpenLab implements Lab {
  path = '';
  client!: LockClient;
  other!: LockClient;
  mutex!: InterProcessMutex;
  theirs!: InterProcessMutex;
  observer!: Observer;
  #server: ZooKeeperServer | undefined;
  #proxy: ZkProxy | undefined;
  #clients: LockClient[] = [];
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
    if (!this.#server) throw new Error("This lab has no server of its own: say `server: 'own'`");
    return this.#server;
  }

  get proxy(): ZkProxy {
    if (!this.#proxy) throw new Error('This lab has no proxy: say `proxy: true`');
    return this.#proxy;
  }

  async connect(
    options?: LockClientOptions,
    connectString = this.#proxy?.connectString ?? this.connectString,
  ): Promise<LockClient> {
    const client = await LockClient.connect(connectString, options);
    this.#clients.push(client);
    return client;
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
    await Promise.all(this.#clients.splice(0).map((client) => client.close(closing)));
    await this.observer[Symbol.asyncDispose]();
    await this.#proxy?.close();
  }

  async stopServer(): Promise<void> {
    await this.#server?.stop();
  }
}
