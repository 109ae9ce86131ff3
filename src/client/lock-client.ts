import { throwIfAborted } from '../support/abort-signal.js';
import { markCopy, refuseOtherCopy } from './package-copy.js';
import { Emitter } from '../support/events.js';
import { showByJson } from '../support/shown.js';
import { expected, expectDuration, expectOptions, expectThis } from '../support/validate.js';
import { describeHosts } from '../zookeeper/wire/connect-string.js';
import type { Session } from '../zookeeper/session/session.js';
import { sessionName } from '../zookeeper/wire/wire-session.js';
import { clientHealth, type ClientHealth } from './client-health.js';
import {
  checkClientOptions,
  type CheckedClientOptions,
  type ConnectStringSource,
  type LazyClientOptions,
  type LockClientOptions,
} from './options/client-options.js';
import { ClientReport, type LockClientEvents } from './report/client-report.js';
import type { ConnectionState } from './report/connection-state.js';
import { FirstConnection } from './first-connection.js';
import { LockHost } from './lock-host.js';
import { ServerList } from './options/server-list.js';
import { SessionKeeper } from './session-keeper.js';
import { SessionSource } from './session-source.js';
import { systemSurroundings, type Surroundings } from './surroundings.js';

/**
 * A connection to ZooKeeper for any number of locks. It keeps one session after another, and opens a new session by
 * itself when the servers have expired the old one.
 *
 * @example
 * const client = await LockClient.connect('zk1:2181,zk2:2181,zk3:2181/app', { sessionTimeoutMs: 30_000 });
 * client.on('state', (state) => console.log(state));
 * await client.close();
 */
export class LockClient extends Emitter<LockClientEvents> implements AsyncDisposable {
  readonly #source: SessionSource;
  readonly #report: ClientReport;
  readonly #sessions: SessionKeeper;
  readonly #first: FirstConnection;
  #closing: Promise<void> | undefined;
  /** @internal The parts that its locks use. */
  readonly host: LockHost;

  /**
   * Resolves with a connected client.
   *
   * @param connectString `host:port,host:port/chroot`. The default port is 2181. IPv6 addresses need brackets. Or a function
   * that returns it, or a promise of it: the client calls it again after a whole round of failures, and while an outage
   * lasts, so the servers may move. The chroot may not change
   * @throws TypeError or RangeError for a bad connect string or option
   * @throws ConnectionTimeoutError if no server answers within `connectionTimeoutMs`
   * @throws AuthFailedError if the servers refuse the credentials, or the account of `sasl`, or without a Kerberos ticket
   * @throws RequestFailedError if every server says that it does not know a request that each lock needs
   * @throws TlsError if TLS with every server fails for a reason that a further attempt would not change
   * @throws the reason of `signal` if it aborts first
   * @throws what the function `connectString` throws at its first call
   * @example
   * await using client = await LockClient.connect('127.0.0.1:2181');
   * const moving = await LockClient.connect(async () => (await readFile('/etc/zookeeper/servers', 'utf8')).trim());
   */
  static connect(connectString: ConnectStringSource, options?: LockClientOptions): Promise<LockClient> {
    return LockClient.connectIn(systemSurroundings, connectString, options);
  }

  /**
   * @internal As `connect`, with a clock, chance and a network from the caller.
   *
   * @param isSlow called once if no server answers for some seconds, with the text that is logged otherwise
   */
  static async connectIn(
    surroundings: Surroundings,
    connectString: ConnectStringSource,
    options?: LockClientOptions,
    isSlow?: (message: string) => void,
  ): Promise<LockClient> {
    const servers = new ServerList(connectString, surroundings.clock);
    const checked = checkClientOptions(options);
    throwIfAborted(checked.signal);
    servers.ask();
    const client = new LockClient(servers, checked, surroundings, fromConnect);
    try {
      await client.#first.wait((message, error) => {
        if (isSlow) isSlow(message);
        else checked.log.warn(message, error === undefined ? {} : { err: error });
      });
    } catch (error) {
      // In the background, because a server may have granted a session.
      void client.close({ timeoutMs: givenUpCloseMs });
      throw error;
    }
    return client;
  }

  /**
   * Returns a client at once, and connects in the background until a server answers. An acquire waits for the first
   * connection within its own `timeoutMs`. If no server answers for some seconds, the log and a `background` event of type
   * `warning` say so once. `state` is `suspended` until the first connection.
   *
   * An error after which `connect` would reject at once, such as an AuthFailedError, rejects the acquires that wait for the
   * first connection. The client goes on all the same.
   *
   * @param connectString as for {@link LockClient.connect}
   * @throws TypeError or RangeError for a bad connect string or option
   * @throws what the function `connectString` throws, unless it returns a promise
   * @example
   * export const client = LockClient.create('zk1:2181,zk2:2181,zk3:2181/app');
   * await client.withLock('/locks/report', (hold) => work(hold), { timeoutMs: 10_000 });
   */
  static create(connectString: ConnectStringSource, options?: LazyClientOptions): LockClient {
    const surroundings = systemSurroundings;
    const servers = new ServerList(connectString, surroundings.clock);
    const checked = checkClientOptions(options, true);
    servers.ask();
    if (servers.failure) throw servers.failure.error;
    const client = new LockClient(servers, checked, surroundings, fromConnect);
    client.#sessions.failWith(() => client.#first.definiteError());
    client.#first.watch((message) => client.#report.warn(message, undefined));
    return client;
  }

  private constructor(
    servers: ServerList,
    options: CheckedClientOptions,
    surroundings: Surroundings,
    caller: typeof fromConnect,
  ) {
    // In JavaScript, a private constructor can be called.
    if ((caller as unknown) !== fromConnect)
      throw new TypeError(
        "LockClient cannot be constructed: use `await LockClient.connect('host:2181', options)`, which resolves with a connected client, or LockClient.create",
      );
    const report = new ClientReport(servers, options, surroundings.clock);
    super(report.events);
    servers.listener = {
      // Otherwise `connect` rejects with the error.
      failed: (message, error) => (servers.isKnown || options.isLazy) && report.warn(message, error),
      changed: (message) => report.moved(message),
    };
    this.#report = report;
    this.#source = new SessionSource(servers, options, surroundings, report);
    this.#sessions = new SessionKeeper(this.#source, report);
    this.#first = new FirstConnection(this.#sessions, this.#source);
    this.host = new LockHost(this.#source, this.#sessions, this.#report);
  }

  /** The state of the connection now; see {@link ConnectionState}. */
  get state(): ConnectionState {
    return this.#report.state;
  }

  /** The negotiated session timeout, in milliseconds. */
  get sessionTimeoutMs(): number {
    return this.#sessions.timeoutMs;
  }

  /**
   * Returns what the client knows about itself now. Asks no server, so it is fast and never fails, also in an outage.
   *
   * A client whose state is `suspended` or `lost` is not dead: it connects again, and opens a new session, by itself. Do
   * not restart its process for that; see docs/operating.md.
   *
   * @example
   * const { state, remainingMs, held, waiting } = client.health();
   * if (state === 'suspended' && held > 0) console.log(`${held} locks are lost in ${remainingMs} ms`);
   */
  health(): ClientHealth {
    const session = this.#sessions.current;
    // Judged first, so that the answer agrees with `hold.isValid`.
    session.isAlive();
    return clientHealth({
      state: this.state,
      session,
      timeoutMs: this.sessionTimeoutMs,
      now: this.host.clock.now(),
      waiting: this.host.acquires,
      silence: this.#report.silence(session),
    });
  }

  /**
   * Ends everything: waiting acquires reject with ClientClosedError, holds are lost with reason `client-closed` (their
   * signals abort first), and the server deletes the znodes. So let the jobs end first. Never rejects because of a dead
   * server: after `timeoutMs` the session is left to expire. Resolves at once if the client has no connection and no
   * znode. A second call returns the same promise.
   *
   * @param options `timeoutMs`: how long to wait for the servers, in milliseconds; 5000 by default
   * @throws TypeError or RangeError for a bad option
   * @example
   * const stop = new AbortController();
   * const running = new Set<Promise<unknown>>(); // results of withLock that have not settled yet
   * process.once('SIGTERM', async () => {
   *   stop.abort();                                // acquires that wait with { signal: stop.signal } give up
   *   await Promise.allSettled(running);           // the jobs end, and release their locks
   *   await client.close({ timeoutMs: 2_000 });
   * });
   */
  close(options: { readonly timeoutMs?: number | undefined } = {}): Promise<void> {
    try {
      expectThis(this instanceof LockClient, 'client.close()');
      const { timeoutMs = defaultCloseTimeoutMs } = expectOptions('close', options, ['timeoutMs']);
      expectDuration('timeoutMs', timeoutMs);
      return (this.#closing ??= this.#close(timeoutMs));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Calls `close()` with its default timeout, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal The present session, for tests. */
  get session(): Session {
    return this.#sessions.current;
  }

  /** The form for `console.log` and `JSON.stringify`: the servers, the state and the session. No credentials. */
  toJSON(): object {
    const { hosts, chroot } = this.#source.servers;
    const { id } = this.#sessions.current;
    return {
      hosts: describeHosts({ hosts }),
      chroot,
      state: this.state,
      sessionId: id === 0n ? undefined : sessionName(id),
      sessionTimeoutMs: this.sessionTimeoutMs,
    };
  }

  static {
    showByJson(this, 'LockClient');
    markCopy(this.prototype);
  }

  async #close(timeoutMs: number): Promise<void> {
    this.#sessions.stop();
    // The promise must exist before any listener is called, because a listener may call close().
    await Promise.resolve();
    for (const each of [...this.host.deadlines]) each.closing();
    await this.#sessions.close(timeoutMs);
    this.#source.servers.close();
    this.#report.closed();
  }
}

const defaultCloseTimeoutMs = 5_000;

/** A longer wait would keep a process alive that could not connect. */
const givenUpCloseMs = 2_000;

/** Only `connect` has this symbol. */
const fromConnect = Symbol('LockClient.connect');

/** @internal The host of the locks of a client that the application has passed. */
export function hostOf(client: unknown): LockHost {
  if (client instanceof LockClient) return client.host;
  refuseOtherCopy('The `client`', client);
  const isPromise = typeof client === 'object' && client !== null && 'then' in client;
  throw new TypeError(
    `${expected('client', 'a LockClient, from LockClient.connect()', client)}${isPromise ? ': await it' : ''}`,
  );
}
