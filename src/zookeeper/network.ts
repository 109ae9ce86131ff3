import net from 'node:net';
import tls, { type ConnectionOptions } from 'node:tls';
import { systemChance } from '../support/chance.js';
import { describeHosts, type Host } from './connect-string.js';
import { lookupShuffled } from './lookup.js';
import { TlsError } from './tls-error.js';

/** The network as an argument. This is the only file of the lock that opens a socket. */
export interface Network {
  /** Begins to connect to a server, over TLS if `tls` is given. The events of the link tell the outcome. */
  connect(to: Host, tls?: TlsSource): Link;
}

/**
 * The options of TLS for the next connection. Asked at each connection, because an application may renew its
 * certificates.
 *
 * @throws Error if there are none, or they cannot be used
 */
export type TlsSource = () => ConnectionOptions;

/** One connection to a server, as a socket of Node.js. */
export interface Link {
  readonly destroyed: boolean;
  /** The error that the link ended with. */
  readonly errored: Error | null;
  /** True if the link has no room. The event 'drain' follows. */
  readonly writableNeedDrain: boolean;
  /** The IP address of the server, while the link is connected. */
  readonly remoteAddress?: string | undefined;
  write(chunk: Uint8Array): boolean;
  /** Ends the link. The event 'close' follows in a later turn. */
  destroy(error?: Error): unknown;
  /** After the event 'error', the event 'close' follows. */
  /** Over TLS, 'secureConnect' follows 'connect' after the handshake. */
  on(event: 'connect' | 'secureConnect' | 'drain' | 'close' | 'error', listener: () => void): unknown;
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  /** Once for each address that the host name stands for. */
  on(event: 'lookup', listener: (error: Error | null, address: string, family: string | number) => void): unknown;
}

export const systemNetwork: Network = {
  connect(to, source) {
    const { host, port } = to;
    const place = { host, port, lookup: lookupShuffled(systemChance.random) };
    return (source ? secureSocket(to, { ...place, source }) : net.connect(place)).setNoDelay();
  },
};

/** If the options cannot be used, the socket ends with a TlsError, as if the server could not be reached. */
function secureSocket(
  to: Host,
  { source, ...place }: net.TcpNetConnectOpts & { readonly source: TlsSource },
): net.Socket {
  try {
    // An IP address must not be sent as a server name (RFC 6066). Node.js checks it against the certificate anyway.
    const servername = net.isIP(to.host) === 0 ? to.host.replace(/\.$/, '') : '';
    return tls.connect({ servername, ...source(), ...place });
  } catch (error) {
    return new net.Socket().destroy(new TlsError(describeHosts({ hosts: [to] }), 'options', error));
  }
}
