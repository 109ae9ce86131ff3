import { listenForAbort } from '../support/abort-signal.js';
import { describeHosts } from '../zookeeper/connect-string.js';
import { TlsError } from '../zookeeper/tls-error.js';
import { UnknownRequestError } from '../zookeeper/unknown-request-error.js';
import { authFailed, connectingText, ConnectionTimeoutError, unusableServers } from './client-errors.js';
import type { SessionKeeper } from './session-keeper.js';
import type { SessionSource } from './session-source.js';

/**
 * Resolves when the servers have accepted the first session. Rejects as `LockClient.connect` does.
 *
 * @param isSlow called once after some seconds without an answer, with the servers that were tried and the last errors
 */
export function firstConnection(
  sessions: SessionKeeper,
  { target, options, clock }: SessionSource,
  isSlow: (message: string, error: unknown) => void,
): Promise<void> {
  const { connectionTimeoutMs, signal } = options;
  const servers = target.hosts.map((host) => describeHosts({ hosts: [host] }));
  /** The last error of each server, in the order of the connect string. A session forgets its errors at an answer. */
  const failures = new Map<string, unknown>(servers.map((server) => [server, undefined]));
  const noteFailures = (): void => {
    for (const [server, error] of sessions.current.connection.history.failures) failures.set(server, error);
  };
  /** The last error, if no further attempt can succeed until a certificate, the options or the servers change. */
  const definiteError = (): Error | undefined => {
    const { history } = sessions.current.connection;
    const errors = servers.map((server) => history.failures.get(server));
    if (errors.every(isDefiniteTls)) return errors.at(-1);
    const unknown = errors.find(isSaidUnknown);
    return unknown && history.haveAllFailed(isSaidUnknown) ? unusableServers(target, unknown) : undefined;
  };
  const lastError = (): unknown =>
    sessions.current.connection.lastError ?? [...failures.values()].findLast((error) => error !== undefined);
  const timeout = (): ConnectionTimeoutError =>
    new ConnectionTimeoutError(
      describeHosts(target),
      connectionTimeoutMs,
      lastError(),
      failures,
      options.tls ? 'secureClientPort' : 'clientPort',
    );
  return new Promise((resolve, reject) => {
    const look = (): void => {
      noteFailures();
      const session = sessions.current;
      const { state } = session;
      // The servers check the credentials before the first answer, but not before the connection.
      if (state.at === 'connected' && session.isProven) settle(resolve);
      else if (state.at === 'ended' && state.why === 'auth-failed')
        settle(() => reject(authFailed(target, options, session.connection.history)));
      else settleIfDefinite();
    };
    const settleIfDefinite = (): void => {
      const error = definiteError();
      if (error) settle(() => reject(error));
    };
    const cancelTimer = clock.after(connectionTimeoutMs, () => {
      noteFailures();
      settle(() => reject(timeout()));
    });
    const times = { forMs: slowMs, leftMs: connectionTimeoutMs - slowMs };
    const tellSlow = (): void => {
      noteFailures();
      const error = lastError();
      isSlow(connectingText(describeHosts(target), times, failures, error), error);
    };
    const cancelWord = times.leftMs > 0 ? clock.after(slowMs, tellSlow) : undefined;
    const unsubscribe = sessions.onChange(look);
    let stopListening = (): unknown => undefined;
    const settle = (how: () => void): void => {
      cancelTimer();
      cancelWord?.();
      unsubscribe();
      stopListening();
      how();
    };
    if (signal) stopListening = listenForAbort(signal, (reason) => settle(() => reject(reason)));
    look();
  });
}

/** A user who sees nothing for so long begins to wonder. */
const slowMs = 3_000;

function isDefiniteTls(error: unknown): error is TlsError {
  return error instanceof TlsError && error.isDefinite;
}

function isSaidUnknown(error: unknown): error is UnknownRequestError {
  return error instanceof UnknownRequestError && error.isSaid;
}
