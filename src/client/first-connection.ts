import { abortHubs } from '../support/abort-signal.js';
import type { CancelTimer } from '../support/clock.js';
import { describeHosts, nameOf } from '../zookeeper/wire/connect-string.js';
import { TlsError } from '../zookeeper/network/tls-error.js';
import { UnknownRequestError } from '../zookeeper/wire/zookeeper-error.js';
import { authFailed, connectingText, ConnectionTimeoutError, unusableServers } from './report/client-errors.js';
import type { SessionKeeper } from './session-keeper.js';
import type { SessionSource } from './session-source.js';

/** The first session of a client, until a server has accepted it. */
export class FirstConnection {
  readonly #sessions: SessionKeeper;
  readonly #source: SessionSource;
  /** The last error of each server. A session forgets its errors at an answer. */
  readonly #seen = new Map<string, unknown>();

  constructor(sessions: SessionKeeper, source: SessionSource) {
    this.#sessions = sessions;
    this.#source = source;
  }

  /**
   * Resolves when the servers have accepted the first session. Rejects as `LockClient.connect` does.
   *
   * @param isSlow called once after some seconds without an answer, with the servers that were tried and the last errors
   */
  wait(isSlow: IsSlow): Promise<void> {
    const { servers, options, clock } = this.#source;
    const { connectionTimeoutMs, signal } = options;
    return new Promise((resolve, reject) => {
      const fail = (reason: unknown): void => settle(() => reject(reason));
      const look = (): void => {
        if (this.#isAccepted) settle(resolve);
        else if (servers.failure && !servers.isKnown && !servers.isPending) fail(servers.failure.error);
        else {
          const error = this.definiteError();
          if (error) fail(error);
        }
      };
      const leftMs = connectionTimeoutMs - slowMs;
      const stops: (() => unknown)[] = [
        clock.after(connectionTimeoutMs, () => fail(this.#timeout())),
        leftMs > 0 ? this.#afterSlow(isSlow, leftMs) : () => undefined,
        this.#sessions.onChange(look),
        servers.onChange(look),
      ];
      const settle = (how: () => void): void => {
        for (const stop of stops) stop();
        how();
      };
      // It may call at once.
      if (signal) stops.push(abortHubs.onAbort(signal, fail));
      look();
    });
  }

  /** Calls `isSlow` once if the servers have not accepted the first session after some seconds. */
  watch(isSlow: IsSlow): void {
    const stop = this.#sessions.onChange(() => {
      if (!this.#isAccepted && !this.#sessions.isClosing) {
        this.#noteFailures();
        return;
      }
      stop();
      cancel();
    });
    const cancel = this.#afterSlow(isSlow, Infinity);
  }

  /** The last error, if no further attempt can succeed until a certificate, the options or the servers change. */
  definiteError(): Error | undefined {
    this.#noteFailures();
    const { servers, options } = this.#source;
    const { state, connection } = this.#sessions.current;
    const { history } = connection;
    if (state.at === 'ended' && state.why === 'auth-failed') return authFailed(servers, options, history);
    const errors = this.#names.map((server) => history.failures.get(server));
    if (errors.every(isDefiniteTls)) return errors.at(-1);
    const unknown = errors.find(isSaidUnknown);
    return unknown && history.haveAllFailed(isSaidUnknown) ? unusableServers(servers, unknown) : undefined;
  }

  /** The servers check the credentials before the first answer, but not before the connection. */
  get #isAccepted(): boolean {
    const { state, isProven } = this.#sessions.current;
    return state.at === 'connected' && isProven;
  }

  #afterSlow(isSlow: IsSlow, leftMs: number): CancelTimer {
    const { servers, clock } = this.#source;
    return clock.after(slowMs, () => {
      this.#noteFailures();
      const error = this.#lastError;
      // A list that was learned just now has not been tried.
      const isTried = error === undefined || this.#names.some((server) => this.#seen.has(server));
      const hosts = isTried ? describeHosts(servers) : '';
      isSlow(connectingText(hosts, { forMs: slowMs, leftMs }, this.#failures, error), error);
    });
  }

  #timeout(): ConnectionTimeoutError {
    this.#noteFailures();
    const { servers, options } = this.#source;
    return new ConnectionTimeoutError(
      describeHosts(servers),
      options.connectionTimeoutMs,
      this.#lastError,
      this.#failures,
      options.tls ? 'secureClientPort' : 'clientPort',
    );
  }

  get #names(): string[] {
    return this.#source.servers.hosts.map(nameOf);
  }

  /** In the order of the connect string. */
  get #failures(): Map<string, unknown> {
    return new Map(this.#names.map((server) => [server, this.#seen.get(server)]));
  }

  get #lastError(): unknown {
    return (
      this.#source.servers.trouble ??
      this.#sessions.current.connection.lastError ??
      [...this.#failures.values()].findLast((error) => error !== undefined)
    );
  }

  #noteFailures(): void {
    for (const [server, error] of this.#sessions.current.connection.history.failures) this.#seen.set(server, error);
  }
}

type IsSlow = (message: string, error: unknown) => void;

/** A user who sees nothing for so long begins to wonder. */
const slowMs = 3_000;

function isDefiniteTls(error: unknown): error is TlsError {
  return error instanceof TlsError && error.isDefinite;
}

function isSaidUnknown(error: unknown): error is UnknownRequestError {
  return error instanceof UnknownRequestError && error.isSaid;
}
