import type { Clock } from '../../support/clock.js';
import type { Network, TlsSource } from '../network/network.js';
import type { SaslSource } from '../wire/sasl-handshake.js';
import type { Servers } from '../network/servers.js';
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
