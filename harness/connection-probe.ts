import { EventEmitter, once } from 'node:events';
import zookeeper, { type ConnectionManager } from 'node-zookeeper-client';
import { systemClock } from '../src/support/clock.ts';
import {
  Connection,
  type ConnectionListener,
  type ConnectionOptions,
  type Reply,
  type UnansweredAttempt,
  type WatchEventType,
} from '../src/zookeeper/connection.ts';
import type { Operation } from '../src/zookeeper/operations.ts';

export type ProbeOptions = Partial<Omit<ConnectionOptions, 'hosts'>> & { readonly attemptMs?: number };

type News = 'connected' | 'disconnected' | 'expired' | 'authFailed' | 'answered' | 'watch';

/** A Connection to servers of this machine without a session on top: nothing is sent that a test does not send. */
export class ConnectionProbe implements ConnectionListener, Disposable {
  readonly connection: Connection;
  /** The library's own object: for counting what it keeps, and for numbers that would take days to reach. */
  readonly manager: ConnectionManager;
  /** Told to every new server. */
  readonly watched = new Set<string>();
  readonly fired: { readonly path: string; readonly event: WatchEventType }[] = [];
  readonly warnings: unknown[] = [];
  /** Of each attempt: how many rounds before it went unanswered. */
  readonly rounds: number[] = [];
  readonly unansweredAttempts: UnansweredAttempt[] = [];
  readonly #attemptMs: number;
  readonly #news = new EventEmitter();

  /** Resolves when connected to the first of these ports that answers. */
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
    const make = () =>
      new Connection(
        { hosts, chroot: '', sessionTimeoutMs: 4_000, auth: [], clock: systemClock, random: () => 0, ...options },
        this,
      );
    [this.connection, this.manager] = withManager(make);
  }

  /** Runs `react` within the call that tells the news. */
  on(news: News, react: () => void): void {
    this.#news.on(news, react);
  }

  async next(news: News): Promise<void> {
    await once(this.#news, news);
  }

  send<T>(operation: Operation<T>): Promise<Reply<T>> {
    return this.connection.send(operation);
  }

  [Symbol.dispose](): void {
    this.connection.abandon();
  }

  // ConnectionListener

  attemptMs(unansweredRounds: number): number {
    this.rounds.push(unansweredRounds);
    return this.#attemptMs;
  }

  unanswered(attempt: UnansweredAttempt): void {
    this.unansweredAttempts.push(attempt);
  }

  connected(): void {
    this.#news.emit('connected');
  }

  disconnected(): void {
    this.#news.emit('disconnected');
  }

  expired(): void {
    this.#news.emit('expired');
  }

  authFailed(): void {
    this.#news.emit('authFailed');
  }

  answered(): void {
    this.#news.emit('answered');
  }

  watchFired(path: string, event: WatchEventType): void {
    this.watched.delete(path);
    this.fired.push({ path, event });
    this.#news.emit('watch');
  }

  watchedPaths(kind: 'data' | 'children'): string[] {
    if (kind === 'children') return [];
    return [...this.watched];
  }

  warn(_message: string, error: unknown): void {
    this.warnings.push(error);
  }
}

function withManager<T>(make: () => T): [T, ConnectionManager] {
  const createClient = zookeeper.createClient.bind(zookeeper);
  let manager: ConnectionManager | undefined;
  zookeeper.createClient = (...given) => {
    const client = createClient(...given);
    manager = client.connectionManager;
    return client;
  };
  try {
    const made = make();
    if (manager === undefined) throw new Error('No client was created');
    return [made, manager];
  } finally {
    zookeeper.createClient = createClient;
  }
}
