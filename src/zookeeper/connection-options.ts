import type { Clock } from '../support/clock.js';
import type { Host } from './connect-string.js';
import type { Network, TlsSource } from './network.js';
import type { SaslSource } from './sasl-handshake.js';
import type { ServerTraits } from './server-traits.js';
import type { SessionIdentity } from './wire-session.js';

export interface ConnectionOptions {
  readonly hosts: readonly Host[];
  /**
   * The prefix of every path on the servers; '' for none. Requests, answers and watch events have the paths below it.
   */
  readonly chroot: string;
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
  readonly traits?: ServerTraits;
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
