import { listenForAbort } from '../support/abort-signal.js';
import { describeHosts } from '../zookeeper/connect-string.js';
import { TlsError } from '../zookeeper/tls-error.js';
import { authFailed, ConnectionTimeoutError } from './client-errors.js';
import type { SessionKeeper } from './session-keeper.js';
import type { SessionSource } from './session-source.js';

/** Resolves when the servers have accepted the first session. Rejects as `LockClient.connect` does. */
export function firstConnection(sessions: SessionKeeper, { target, options, clock }: SessionSource): Promise<void> {
  const { connectionTimeoutMs, signal } = options;
  /** The last error of each server, in the order of the connect string. */
  const failures = (): Map<string, unknown> => {
    const servers = target.hosts.map((host) => describeHosts({ hosts: [host] }));
    return new Map(servers.map((server) => [server, sessions.current.connection.history.failures.get(server)]));
  };
  /** The last TlsError, if no server can be reached until its certificate or the options change. */
  const tlsRefusal = (): unknown => {
    const errors = [...failures().values()];
    return errors.every((error) => error instanceof TlsError && error.isDefinite) ? errors.at(-1) : undefined;
  };
  const timeout = (): ConnectionTimeoutError =>
    new ConnectionTimeoutError(
      describeHosts(target),
      connectionTimeoutMs,
      sessions.current.connection.lastError,
      failures(),
      options.tls ? 'secureClientPort' : 'clientPort',
    );
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const session = sessions.current;
      const { state } = session;
      // The servers check the credentials before the first answer, but not before the connection.
      if (state.at === 'connected' && session.isProven) settle(resolve);
      else if (state.at === 'ended' && state.why === 'auth-failed')
        settle(() => reject(authFailed(target, options, session.connection.history)));
      else if (tlsRefusal()) settle(() => reject(tlsRefusal()));
    };
    const cancelTimer = clock.after(connectionTimeoutMs, () => settle(() => reject(timeout())));
    const unsubscribe = sessions.onChange(look);
    let stopListening = (): unknown => undefined;
    const settle = (how: () => void): void => {
      cancelTimer();
      unsubscribe();
      stopListening();
      how();
    };
    if (signal) stopListening = listenForAbort(signal, (reason) => settle(() => reject(reason)));
    look();
  });
}
