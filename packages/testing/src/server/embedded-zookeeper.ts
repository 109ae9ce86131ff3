import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import {
  expected,
  expectDuration,
  expectFunction,
  expectInteger,
  expectMethod,
  expectOneOf,
  expectOptions,
  expectPositive,
} from '../../../../src/support/validate.js';
import { fourLetterWords } from './four-letter-words.js';
import { expectSessionId, FaultScript, type FaultStep } from './fault-script.js';
import { ServerConnection } from './server-connection.js';
import { SessionServer } from './session-server.js';
import { machineClock, type Clock } from './test-clock.js';

/**
 * A ZooKeeper server in this process, for tests and trials: it speaks ZooKeeper's protocol on 127.0.0.1, as one server
 * of version 3.8 or 3.9 does, and keeps everything in memory.
 * The data are gone when it stops. It has no ensemble, no TLS, no SASL and no quotas.
 *
 * @example
 * await using zk = await EmbeddedZooKeeper.start();
 * const client = await LockClient.connect(zk.connectString);
 */
export class EmbeddedZooKeeper implements AsyncDisposable {
  /** The port on 127.0.0.1. */
  readonly port: number;
  /** For `LockClient.connect`, and any other ZooKeeper client. */
  readonly connectString: string;
  readonly #listener: Server;
  /** @internal */
  readonly server: SessionServer;
  readonly #clock: Clock;
  readonly #cancel = new Set<() => void>();
  readonly #sockets = new Set<Socket>();
  #isPaused = false;

  /**
   * Resolves when the server listens.
   *
   * @throws TypeError or RangeError that names the option; Node's own error if the port is taken
   */
  static async start(options: EmbeddedZooKeeperOptions = {}): Promise<EmbeddedZooKeeper> {
    const checked = checkedOptions(options);
    const listener = createServer({ noDelay: true });
    listener.listen(checked.port, '127.0.0.1');
    await once(listener, 'listening');
    try {
      return new EmbeddedZooKeeper(listener, checked);
    } catch (error) {
      listener.close(); // the application's clock has thrown
      throw error;
    }
  }

  private constructor(listener: Server, options: CheckedOptions) {
    // In JavaScript, a private constructor can be called.
    if ((listener as unknown) === undefined || (options as unknown) === undefined)
      throw new TypeError(
        'EmbeddedZooKeeper cannot be constructed: use `await EmbeddedZooKeeper.start(options)`, which resolves with a running server',
      );
    this.#listener = listener;
    this.#clock = options.clock;
    this.server = new SessionServer({
      ...options,
      extendedTypes: options.extendedTypesEnabled,
      maxBufferBytes: options.juteMaxBufferBytes,
    });
    this.port = (listener.address() as AddressInfo).port;
    this.connectString = `127.0.0.1:${this.port}`;
    listener.on('connection', (socket: Socket) => this.#accept(socket));
    this.#every(options.tickTimeMs, () => this.server.expire());
    this.#every(options.containerCheckIntervalMs, () => this.server.reap(), this.#clock.now());
  }

  /**
   * The ids of the sessions, in the order in which they were opened, in the format that participants of a lock use:
   * `0x100003e1a2b0000`.
   */
  get sessionIds(): readonly string[] {
    return this.server.sessionNames;
  }

  /**
   * Ends a session at once, as if its client had been silent for its timeout: its ephemeral znodes are deleted, its
   * connection is closed, and the client learns of it when it reconnects. Returns true if there was such a session.
   *
   * @throws TypeError unless `id` is a session's id
   * @example
   * const holder = await mutex.holder();
   * if (holder) zk.expireSession(holder.sessionId);
   */
  expireSession(id: string): boolean {
    expectSessionId('id', id);
    return this.server.endSession(BigInt.asIntN(64, BigInt(id)));
  }

  /** Cuts all connections. The sessions stay, and clients may connect again at once. */
  dropConnections(): void {
    for (const connection of [...this.server.connections]) connection.cut();
  }

  /**
   * Reads and answers nothing from now on, like a stopped process: connections stay, new ones are accepted, and time
   * goes on. Idempotent.
   */
  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    for (const connection of this.server.connections) connection.hold();
  }

  /** Continues after `pause`. Sessions whose time ended during the pause expire first. Idempotent. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.server.expire();
    for (const connection of [...this.server.connections]) connection.release();
  }

  /**
   * Plays a script of faults, one step after another. Several scripts can run side by side. Returns a function that
   * ends this one.
   *
   * @throws TypeError or RangeError that names the step's option
   * @example
   * zk.play([{ op: 'create2', path: /-lock-/, fault: 'lose-answer' }, { op: 'delete', after: 1, fault: { refuse:
   * 'NO_AUTH' } }]);
   */
  play(steps: readonly FaultStep[]): () => void {
    return this.server.faults.play(new FaultScript(steps));
  }

  /** Closes the port and all connections, and forgets everything. Idempotent. */
  async stop(): Promise<void> {
    for (const cancel of this.#cancel) cancel();
    this.#cancel.clear();
    const closed = this.#listener.listening ? once(this.#listener, 'close') : undefined;
    this.#listener.close();
    this.dropConnections();
    // A closed connection stays open until its client has read what was sent.
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Same as `stop`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #accept(socket: Socket): void {
    const connection = new ServerConnection(socket, this.server, this.#clock.now());
    this.server.connections.add(connection);
    if (this.#isPaused) connection.hold();
    const cancel = this.#clock.after(sessionlessMs, () => {
      if (connection.sessionId === 0n) connection.close();
    });
    this.#cancel.add(cancel);
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      cancel();
      this.#cancel.delete(cancel);
    });
  }

  /** Runs `run` at the multiples of the interval, counted from `phaseMs`. */
  #every(intervalMs: number, run: () => void, phaseMs = 0): void {
    const cancel = this.#clock.after(intervalMs - ((this.#clock.now() - phaseMs) % intervalMs), () => {
      this.#cancel.delete(cancel);
      this.#every(intervalMs, run, phaseMs);
      if (!this.#isPaused) run();
    });
    this.#cancel.add(cancel);
  }
}

/** The options of `EmbeddedZooKeeper.start`, each with its default. */
export interface EmbeddedZooKeeperOptions {
  /** The port on 127.0.0.1. @default a free one */
  readonly port?: number | undefined;
  /**
   * The ZooKeeper that the server imitates: 3.8.0 with Debian's fixes, or 3.9.5. Both withhold watch events from clients
   * that may not read the znode (CVE-2024-23944). In 3.9, such a client may not ask whether the znode exists, events
   * carry the zxid, and a connection may have several kinds of watches on one path.
   *
   * @default '3.8'
   */
  readonly version?: '3.8' | '3.9' | undefined;
  /** Sessions expire at the end of a tick. @default 2_000 */
  readonly tickTimeMs?: number | undefined;
  /** @default two ticks */
  readonly minSessionTimeoutMs?: number | undefined;
  /** @default twenty ticks */
  readonly maxSessionTimeoutMs?: number | undefined;
  /**
   * The time between two checks that delete empty containers, and znodes whose time to live is over. @default 60_000
   */
  readonly containerCheckIntervalMs?: number | undefined;
  /**
   * ZooKeeper's `zookeeper.extendedTypesEnabled`: true allows znodes with a time to live. @default false, as in
   * ZooKeeper
   */
  readonly extendedTypesEnabled?: boolean | undefined;
  /**
   * ZooKeeper's `enforce.auth.schemes`: a client that has proved none of these is refused at its first request.
   * @default [], as in ZooKeeper: nobody is refused
   */
  readonly enforceAuthSchemes?: readonly ('digest' | 'ip')[] | undefined;
  /**
   * ZooKeeper's `4lw.commands.whitelist`: the four-letter words that are answered besides `srvr`. A real server answers
   * only `srvr` if it is not set.
   *
   * @default ['ruok', 'srvr', 'stat', 'cons', 'wchs', 'mntr', 'isro', 'dump']
   */
  readonly fourLetterWords?: readonly string[] | undefined;
  /** ZooKeeper's `jute.maxbuffer`: a longer request ends the connection. @default 1_048_575 */
  readonly juteMaxBufferBytes?: number | undefined;
  /**
   * The clock for the expiry of sessions and the times of znodes. @default the machine's clock, which fake timers do
   * not change
   */
  readonly clock?: Clock | undefined;
  /**
   * The random source for the passwords of sessions: numbers from 0 up to, but not including, 1. @default Math.random
   */
  readonly random?: (() => number) | undefined;
}

const known = [
  'port',
  'version',
  'tickTimeMs',
  'minSessionTimeoutMs',
  'maxSessionTimeoutMs',
  'containerCheckIntervalMs',
  'extendedTypesEnabled',
  'enforceAuthSchemes',
  'fourLetterWords',
  'juteMaxBufferBytes',
  'clock',
  'random',
] as const;

/** A connection that opens no session is closed after this time. */
const sessionlessMs = 10_000;

type CheckedOptions = {
  readonly [Name in keyof EmbeddedZooKeeperOptions]-?: NonNullable<EmbeddedZooKeeperOptions[Name]>;
};

function checkedOptions(given: EmbeddedZooKeeperOptions): CheckedOptions {
  const options = expectOptions('EmbeddedZooKeeper.start', given, known);
  const { port = 0, tickTimeMs = 2_000, containerCheckIntervalMs = 60_000, juteMaxBufferBytes = 0xfffff } = options;
  const { version = '3.8', extendedTypesEnabled = false, clock = machineClock, random = Math.random } = options;
  const { enforceAuthSchemes = [], fourLetterWords: words = fourLetterWords } = options;
  expectInteger('port', port, { min: 0, max: 65_535 });
  if (!['3.8', '3.9'].includes(version)) throw new TypeError(expected('version', "'3.8' or '3.9'", version));
  expectPositive('tickTimeMs', tickTimeMs);
  expectPositive('containerCheckIntervalMs', containerCheckIntervalMs);
  expectInteger('juteMaxBufferBytes', juteMaxBufferBytes, { min: 64, max: 2 ** 30 });
  const { minSessionTimeoutMs = tickTimeMs * 2, maxSessionTimeoutMs = tickTimeMs * 20 } = options;
  expectDuration('minSessionTimeoutMs', minSessionTimeoutMs);
  expectDuration('maxSessionTimeoutMs', maxSessionTimeoutMs);
  if (maxSessionTimeoutMs < minSessionTimeoutMs)
    throw new RangeError(
      expected('maxSessionTimeoutMs', `at least \`minSessionTimeoutMs\`, ${minSessionTimeoutMs}`, maxSessionTimeoutMs),
    );
  if (typeof extendedTypesEnabled !== 'boolean')
    throw new TypeError(expected('extendedTypesEnabled', 'true or false', extendedTypesEnabled));
  expectSome('enforceAuthSchemes', enforceAuthSchemes, ['digest', 'ip']);
  expectSome('fourLetterWords', words, fourLetterWords);
  expectMethod('clock', clock, 'now');
  expectMethod('clock', clock, 'after');
  if (!Number.isFinite(clock.now()))
    throw new TypeError(expected('clock.now()', 'a finite number of milliseconds', clock.now()));
  expectFunction('random', random);
  return {
    port,
    version,
    tickTimeMs,
    minSessionTimeoutMs,
    maxSessionTimeoutMs,
    containerCheckIntervalMs,
    extendedTypesEnabled,
    enforceAuthSchemes,
    fourLetterWords: words,
    juteMaxBufferBytes,
    clock: { now: () => clock.now(), after: (delayMs, run) => cancelOf(clock.after(delayMs, run)) },
    random,
  };
}

function expectSome(option: string, value: unknown, known: readonly string[]): void {
  if (!Array.isArray(value))
    throw new TypeError(expected(option, `an array of some of '${known.join("', '")}'`, value));
  value.forEach((one: unknown, index) => expectOneOf(`${option}[${index}]`, one, known));
}

/** A clock of setTimeout often returns the timer by mistake. */
function cancelOf(cancel: unknown): () => void {
  if (typeof cancel !== 'function')
    throw new TypeError(expected('clock.after', 'a method that returns a function, which cancels the call', cancel));
  return cancel as () => void;
}
