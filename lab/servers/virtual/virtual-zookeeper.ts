import { EmbeddedZooKeeper, type EmbeddedZooKeeperOptions } from '../../../packages/testing/src/index.ts';
import type { VirtualMachine } from '../../virtual/bridge.ts';
import { serverClock } from '../../virtual/surroundings.ts';
import { VirtualProcess } from '../../virtual/virtual-process.ts';
import { fourLetterWord } from '../four-letter-word.ts';
import type { ServerOptions, ZooKeeperServer } from '../local-zookeeper.ts';
import { isOverTls } from '../tls-front.ts';
import { startFront, type Front, type FrontOptions } from './front.ts';
import { Journal } from './journal.ts';

type State = { at: 'running'; zk: EmbeddedZooKeeper; front: Front | undefined } | { at: 'killed' } | { at: 'removed' };

/** The embedded ZooKeeper as a virtual process of its own, which goes on while the test's process is stalled. */
export class VirtualZooKeeper implements ZooKeeperServer {
  readonly port: number;
  readonly connectString: string;
  readonly secureConnectString: string;
  readonly #machine: VirtualMachine;
  readonly #options: EmbeddedZooKeeperOptions;
  readonly #front: FrontOptions | undefined;
  #journal = new Journal();
  #state: State = { at: 'killed' };

  static async start(machine: VirtualMachine, options: ServerOptions = {}): Promise<VirtualZooKeeper> {
    const server = new VirtualZooKeeper(machine, options);
    await server.start();
    return server;
  }

  private constructor(machine: VirtualMachine, options: ServerOptions) {
    this.#machine = machine;
    this.port = machine.network.freshPort();
    this.connectString = `127.0.0.1:${this.port}`;
    this.secureConnectString = `localhost:${this.port}`;
    this.#front = frontOf(options);
    const port = this.#front ? machine.network.freshPort() : this.port;
    this.#options = { port, ...embeddedOptions(options) };
  }

  get pid(): number {
    throw new Error('A virtual ZooKeeper has no process id: a test of processes belongs into test/contract');
  }

  command(word: string): Promise<string> {
    return fourLetterWord('127.0.0.1', this.port, word);
  }

  async start(): Promise<void> {
    if (this.#state.at !== 'killed') throw new Error(`${this.connectString} cannot start: it is ${this.#state.at}`);
    const { time } = this.#machine;
    const whose = new VirtualProcess(this.connectString, time.agenda);
    const clock = serverClock(whose, time);
    const zk = await time.as(whose, () => EmbeddedZooKeeper.start({ ...this.#options, clock }));
    this.#journal.continue(zk.server);
    const front = this.#front && (await time.as(whose, () => startFront(this.port, zk.port, this.#front ?? {})));
    this.#state = { at: 'running', zk, front };
  }

  async kill(): Promise<void> {
    if (this.#state.at !== 'running') return;
    const { zk, front } = this.#state;
    this.#state = { at: 'killed' };
    front?.stop();
    await zk.stop();
  }

  wipe(): void {
    this.#journal = new Journal();
  }

  backUp(): () => void {
    const copy = new Journal(this.#journal);
    return () => (this.#journal = new Journal(copy));
  }

  pause(): void {
    this.#running.pause();
  }

  resume(): void {
    this.#running.resume();
  }

  async stop(): Promise<void> {
    await this.kill();
    this.#state = { at: 'removed' };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  get #running(): EmbeddedZooKeeper {
    if (this.#state.at !== 'running') throw new Error(`${this.connectString} is not running`);
    return this.#state.zk;
  }
}

/** Undefined if the embedded server can do all that is asked. */
function frontOf({ security, config, answersPerSecond, keeper }: ServerOptions): FrontOptions | undefined {
  const front = {
    ...(isOverTls && { tls: 'same-port' as const }),
    ...security,
    ...(config?.['maxClientCnxns'] !== undefined && { maxClientCnxns: Number(config['maxClientCnxns']) }),
    ...(answersPerSecond !== undefined && { answersPerSecond }),
    ...(keeper && { keeper }),
  };
  return Object.keys(front).length > 0 ? front : undefined;
}

/** The same times as `LocalZooKeeper` configures. */
function embeddedOptions({
  tickTimeMs = 500,
  containerCheckMs = 60_000,
  javaOptions = [],
  config,
  security,
  version = '3.8',
}: ServerOptions) {
  const extended = '-Dzookeeper.extendedTypesEnabled=true';
  const { tls, certificate, clientAuth, kerberos, requiresSasl } = security ?? {};
  const real = certificate ?? clientAuth ?? kerberos ?? requiresSasl;
  const isConfigured = Object.keys(config ?? {}).some(
    (name) => name !== 'maxClientCnxns' && name !== 'maxSessionTimeout',
  );
  if (isConfigured || real !== undefined || tls === 'own-port' || javaOptions.some((option) => option !== extended))
    throw new Error('A virtual ZooKeeper has no configuration: a test of it belongs into test/contract');
  return {
    version,
    tickTimeMs,
    maxSessionTimeoutMs: Number(config?.['maxSessionTimeout'] ?? 60_000),
    containerCheckIntervalMs: containerCheckMs,
    extendedTypesEnabled: javaOptions.includes(extended),
  };
}
