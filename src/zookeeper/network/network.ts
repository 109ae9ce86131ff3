import net from 'node:net';
import tls, { type ConnectionOptions } from 'node:tls';
import { systemClock } from '../../support/clock.js';
import { AddressRace } from './address-race.js';
import { nameOf, type Host } from '../wire/connect-string.js';
import { HostNames } from './host-names.js';
import type { Link } from './link.js';
import { systemNames } from './lookup.js';
import { ServerMemory } from './server-memory.js';
import { TlsError } from './tls-error.js';

export type { Link };

/** The network as an argument. `network.ts` is the only file of the lock that opens a socket. */
export interface Network {
  /** Without it, no host needs a lookup. */
  readonly names?: HostNames;
  /** Without it, each connection remembers for itself. */
  readonly memory?: ServerMemory;
  /**
   * Begins to connect to a server, over TLS if `tls` is given. The events of the link tell the outcome. Without a `way`,
   * Node.js looks the host up.
   */
  connect(to: Host, tls?: TlsSource, way?: Way): Link;
}

/** Where to dial a server. */
export interface Way {
  /** In the order in which they are dialled. */
  readonly addresses: readonly string[];
  /** The time that each address has before the next one is dialled too. */
  readonly headStartMs: number;
}

/**
 * The options of TLS for the next connection. Asked at each connection, because an application may renew its
 * certificates.
 *
 * @throws Error if there are none, or they cannot be used
 */
export type TlsSource = () => ConnectionOptions;

export const systemNetwork: Network = {
  names: new HostNames(systemNames, systemClock),
  memory: new ServerMemory(),
  connect(to, source, way) {
    let secure: ConnectionOptions | undefined;
    try {
      secure = source?.();
    } catch (error) {
      return unusable(to, error);
    }
    const dial = (address: string): net.Socket => keepingErrors(socketTo(to, address, secure)).setNoDelay();
    return way && way.addresses.length > 1
      ? new AddressRace({ ...way, dial, isSecure: secure !== undefined, clock: systemClock })
      : dial(way?.addresses[0] ?? to.host);
  },
};

function socketTo(to: Host, host: string, secure: ConnectionOptions | undefined): net.Socket {
  const place = { host, port: to.port };
  if (!secure) return net.connect(place);
  // An IP address must not be sent as a server name (RFC 6066). Node.js checks it against the certificate anyway.
  const servername = net.isIP(to.host) === 0 ? to.host.replace(/\.$/, '') : '';
  try {
    return tls.connect({ servername, ...secure, ...place });
  } catch (error) {
    return unusable(to, error);
  }
}

/**
 * After the handshake, an alert of TLS is an error that does not destroy the socket, and that `errored` does not keep: TLS
 * 1.3 sends there that a client certificate is refused.
 */
function keepingErrors(socket: net.Socket): net.Socket {
  return socket.on('error', (error) => socket.destroy(error));
}

/** If the options cannot be used, the socket ends with a TlsError, as if the server could not be reached. */
function unusable(to: Host, error: unknown): net.Socket {
  return new net.Socket().destroy(new TlsError(nameOf(to), 'options', error));
}
