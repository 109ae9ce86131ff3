import type { Operation, WatchEventType, WatchKind } from '../wire/operations.js';

/** An attempt to connect that ended without an answer to its ConnectRequest. */
export interface UnansweredAttempt {
  readonly startedAt: number;
  /** True if a server accepted the TCP connection: the server is running, and refused without a reply. */
  readonly wasAccepted: boolean;
}

/** The methods are called synchronously, in the order of the events on the socket. */
export interface ConnectionListener {
  /**
   * How long one server may take to accept the connection and to answer the ConnectRequest, in milliseconds, after this
   * number of rounds in which an attempt ran out of time. `measuredMs` is the time that the last session needed.
   */
  attemptMs(unansweredRounds: number, measuredMs: number): number;
  /** The longest pause before a round over the servers, in milliseconds. */
  mostPauseMs(): number;
  /** Called before `disconnected`. */
  unanswered(attempt: UnansweredAttempt): void;
  /** Also called after `attach`, without `disconnected` before it. */
  connected(connectSentAt: number): void;
  /** The connection that `attach` made has failed, and the present one goes on. */
  attachFailed(): void;
  /** Every outstanding request has been failed. The connection tries the next server by itself. */
  disconnected(): void;
  /** The server said that the session has ended. */
  expired(): void;
  authFailed(): void;
  /** The server answered a ping. */
  pinged(sentAt: number): void;
  /** `error` is 0, or ZooKeeper's error number. */
  answered(operation: Operation<unknown>, sentAt: number, error: number): void;
  /** Further requests may be sent now. */
  roomMade(): void;
  watchFired(path: string, event: WatchEventType): void;
  /** The watches to plant on the next server. */
  watchedPaths(kind: WatchKind): string[];
  warn(message: string, error: unknown): void;
}
