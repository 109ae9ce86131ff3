import type { Operation, WatchEventType, WatchKind } from '../wire/operations.js';
import type { Clock } from '../../support/clock.js';
import type { Network, TlsSource } from '../network/network.js';
import type { SaslSource } from '../wire/sasl-handshake.js';
import type { Servers } from '../wire/connect-string.js';
import type { ServerTraits } from './server-traits.js';
import type { SessionIdentity } from '../wire/wire-session.js';

export interface ConnectionOptions {
  /** Requests, answers and watch events have the paths below the chroot. */
  readonly servers: Servers;
  readonly sessionTimeoutMs: number;
  readonly auth: readonly Credential[];
  /** Without it, the connections are not encrypted. */
  readonly tls?: TlsSource | undefined;
  readonly sasl?: SaslSource | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly network: Network;
  /** The session to attach to, instead of opening a new one. */
  readonly resume?: SessionIdentity;
  /** The number of rounds over the hosts that had no answer just before, for the length of the first attempts. */
  readonly unansweredRounds?: number;
  /** The client's knowledge of its servers. */
  readonly traits: ServerTraits;
  /** The number of the first request. @default 1 */
  readonly firstXid?: number;
}

/** An account of the client on the servers, as in ZooKeeper's `addauth`. */
export interface Credential {
  /** The servers' method to check the account, such as `digest`. */
  readonly scheme: string;
  /** The secret in the form of the scheme, such as `user:password` for `digest`. */
  readonly credentials: string;
}

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
  pinged(sentAt: number): void;
  /** `error` is 0, or ZooKeeper's error number. Called before the caller of the request is told. */
  answered(operation: Operation<unknown>, sentAt: number, error: number): void;
  /** Further requests may be sent now. */
  roomMade(): void;
  watchFired(path: string, event: WatchEventType): void;
  /** The watches to plant on the next server. */
  watchedPaths(kind: WatchKind): string[];
  warn(message: string, error: unknown): void;
}
