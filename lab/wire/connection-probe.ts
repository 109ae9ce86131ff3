import { EventEmitter, once } from 'node:events';
import { systemClock } from '../../src/support/clock.ts';
import { systemNetwork, type Link, type Network } from '../../src/zookeeper/network/network.ts';
import { Connection } from '../../src/zookeeper/connection/connection.ts';
import type {
  ConnectionListener,
  ConnectionOptions,
  UnansweredAttempt,
} from '../../src/zookeeper/connection/connection-options.ts';
import { ServerTraits } from '../../src/zookeeper/connection/server-traits.ts';
import type { Operation, WatchEventType } from '../../src/zookeeper/wire/operations.ts';
import type { Reply } from '../../src/zookeeper/wire/replies.ts';

export type ProbeOptions = Partial<Omit<ConnectionOptions, 'hosts'>> & { readonly attemptMs?: number };

type ProbeEvent =
  'connected' | 'attachFailed' | 'disconnected' | 'expired' | 'authFailed' | 'answered' | 'pinged' | 'watch';

/** A Connection to servers of this machine without a session on top: it sends only what a test sends. */
export class ConnectionProbe implements ConnectionListener, Disposable {
  readonly connection: Connection;
  /** The link that was dialled last. */
  link: Link | undefined;
  /** Called with each link that is dialled. */
  onDial: (link: Link) => void = () => {};
  /** The paths that every new server gets to watch. */
  readonly watched = new Set<string>();
  readonly fired: { readonly path: string; readonly event: WatchEventType }[] = [];
  readonly warnings: unknown[] = [];
  /** The number of unanswered rounds before each attempt. */
  readonly rounds: number[] = [];
  readonly unansweredAttempts: UnansweredAttempt[] = [];
  readonly #attemptMs: number;
  readonly #events = new EventEmitter();

  /** Resolves when the probe is connected to the first of these ports that answers. */
  static async connect(ports: readonly number[], options: ProbeOptions = {}): Promise<ConnectionProbe> {
    const probe = new ConnectionProbe(ports, options);
    const connected = probe.next('connected');
    probe.connection.connect();
    await connected;
    return probe;
  }

  constructor(ports: readonly number[], { attemptMs = 1_000, ...options }: ProbeOptions = {}) {
    this.#attemptMs = attemptMs;
    const hosts = ports.map((port) => ({ host: '127.0.0.1', port }));
    const { network = systemNetwork } = options;
    const dial: Network['connect'] = (...to) => {
      this.link = network.connect(...to);
      this.onDial(this.link);
      return this.link;
    };
    this.connection = new Connection(
      {
        servers: { hosts, chroot: '' },
        sessionTimeoutMs: 4_000,
        auth: [],
        traits: new ServerTraits(() => systemClock.now()),
        clock: systemClock,
        random: () => 0,
        ...options,
        network: { connect: dial },
      },
      this,
    );
  }

  /** The link that was dialled last has these bytes to read. */
  receive(chunk: Buffer): void {
    (this.link as EventEmitter | undefined)?.emit('data', chunk);
  }

  /** Runs `react` within the call that reports the event. */
  on(event: ProbeEvent, react: () => void): void {
    this.#events.on(event, react);
  }

  async next(event: ProbeEvent): Promise<void> {
    await once(this.#events, event);
  }

  send<T>(operation: Operation<T>): Promise<Reply<T>> {
    return this.connection.send(operation);
  }

  [Symbol.dispose](): void {
    this.connection.abandon();
  }

  // ConnectionListener

  mostPauseMs(): number {
    return Infinity;
  }

  attemptMs(unansweredRounds: number): number {
    this.rounds.push(unansweredRounds);
    return this.#attemptMs;
  }

  unanswered(attempt: UnansweredAttempt): void {
    this.unansweredAttempts.push(attempt);
  }

  connected(): void {
    this.#events.emit('connected');
  }

  attachFailed(): void {
    this.#events.emit('attachFailed');
  }

  disconnected(): void {
    this.#events.emit('disconnected');
  }

  expired(): void {
    this.#events.emit('expired');
  }

  authFailed(): void {
    this.#events.emit('authFailed');
  }

  answered(): void {
    this.#events.emit('answered');
  }

  pinged(): void {
    this.#events.emit('pinged');
  }

  roomMade(): void {}

  watchFired(path: string, event: WatchEventType): void {
    this.watched.delete(path);
    this.fired.push({ path, event });
    this.#events.emit('watch');
  }

  watchedPaths(kind: 'data' | 'children'): string[] {
    if (kind === 'children') return [];
    return [...this.watched];
  }

  warn(_message: string, error: unknown): void {
    this.warnings.push(error);
  }
}
