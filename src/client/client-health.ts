import { errorText, isError } from '../support/error-text.js';
import type { Session } from '../zookeeper/session/session.js';
import { sessionName } from '../zookeeper/wire/wire-session.js';
import type { ConnectionState } from './report/connection-state.js';
import type { Silence } from './report/outage-log.js';

/**
 * The knowledge of a client about itself, without a request to a server; see {@link LockClient.health}. It is plain data,
 * also for `JSON.stringify` and after a spread.
 */
export interface ClientHealth {
  /** The state of the connection. */
  readonly state: ConnectionState;
  /** The session, written as in the servers' logs: `0x100000a2b3c0001`. Undefined before the first connection. */
  readonly sessionId: string | undefined;
  /** `host:port` of the server that the client is connected to; undefined while it has no connection. */
  readonly server: string | undefined;
  /** The negotiated session timeout, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * How many milliseconds the session has left if no server answers from now on, by the session's clock. While the client
   * holds a lock, this is the time until the session's deadline: then all its holds are lost. Otherwise it is the time
   * until the client presumes that the servers have expired the session, and its waiters are about to lose their places. 0
   * while the client has no session, and after `close()`.
   */
  readonly remainingMs: number;
  /** The number of locks that the client holds by this session: one for each znode, however often it was re-entered. */
  readonly held: number;
  /** The number of acquires that have not settled yet, of all locks of the client. */
  readonly waiting: number;
  /** Why no server answers: the last error of the connection. Undefined while the client is connected, and after `close()`. */
  readonly lastError: ErrorFacts | undefined;
}

/** An error as plain data. */
export interface ErrorFacts {
  /** The name of the error's class, such as `ZooKeeperError`. */
  readonly name: string;
  /** The text of the error. */
  readonly message: string;
  /** The `code` of the error, such as `ECONNREFUSED`; undefined if it has none. */
  readonly code: string | undefined;
}

/** @internal The health of a client. */
export function clientHealth({ state, session, timeoutMs, now, waiting, silence }: HealthFacts): ClientHealth {
  const { id, isConnected, isEnded, lockCount, endsAt } = session;
  const cause = isConnected || state === 'closed' ? undefined : silence?.cause;
  return {
    state,
    sessionId: id === 0n ? undefined : sessionName(id),
    server: isConnected ? session.connection.server : undefined,
    timeoutMs,
    remainingMs: Math.max(0, endsAt - now),
    // A session that is over keeps its lost holds until their jobs have noticed the loss.
    held: isEnded ? 0 : lockCount,
    waiting,
    lastError: cause === undefined ? undefined : errorFacts(cause),
  };
}

function errorFacts(error: unknown): ErrorFacts {
  const { name, code }: NodeJS.ErrnoException = isError(error) ? error : new Error();
  return { name, message: errorText(error), code };
}

interface HealthFacts {
  readonly state: ConnectionState;
  readonly session: Session;
  readonly timeoutMs: number;
  /** Monotonic milliseconds. */
  readonly now: number;
  readonly waiting: number;
  readonly silence: Silence | undefined;
}
