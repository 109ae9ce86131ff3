import { isIP } from 'node:net';
import { hostname } from 'node:os';

/** The parts of a request that the guard looks at. */
export interface GuardedRequest {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** The header Sec-Fetch-Site, which browsers send and scripts cannot change. */
  readonly fetchSite: string | undefined;
  /** True for the page itself, which a link of another site may open. */
  readonly isPage: boolean;
  /** The address of this machine that the connection was made to. */
  readonly localAddress: string | undefined;
}

/**
 * Why a request is refused; undefined if it is allowed. A page of another site could make its own host name resolve to
 * this machine, and then read the answers as its own (DNS rebinding). So only the console's own names are accepted. An
 * address cannot be rebound.
 *
 * @param listenHost the host that the console was told to listen on
 */
export function refusalOf(request: GuardedRequest, listenHost: string): string | undefined {
  const { host, origin, fetchSite, isPage, localAddress } = request;
  const name = host === undefined ? undefined : hostNameOf(host);
  if (name === undefined || !isOwnName(name, listenHost, localAddress))
    return `The host ${host ?? '(none)'} is not this console's. Open it by its address, or start it with --host`;
  if (origin !== undefined && !isSameOrigin(origin, host ?? '')) return 'Requests of other sites are refused';
  const isOfOtherSite = fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none';
  if (isOfOtherSite && !isPage) return 'Requests of other sites are refused';
  return undefined;
}

/** True if the address is one that only this machine can reach. */
export function isLoopback(address: string): boolean {
  return address === 'localhost' || address === '::1' || /^(?:::ffff:)?127\./.test(address);
}

/** The host name in a Host header, without its port, in lower case. */
function hostNameOf(host: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\s]+))(?::\d{1,5})?$/i.exec(host) ?? [];
  return (bracketed ?? plain)?.toLowerCase();
}

function isOwnName(name: string, listenHost: string, localAddress = ''): boolean {
  const local = localAddress.replace(/^::ffff:/, '');
  if (name === listenHost.toLowerCase() && !isUnspecified(name)) return true;
  if (isIP(name) !== 0) return name === local;
  // The name that a program such as ssh forwards from, and the name of this machine.
  return (isLoopback(local) && name === 'localhost') || (!isLoopback(listenHost) && name === hostname().toLowerCase());
}

function isUnspecified(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

/** A proxy in front of the console may speak https. */
function isSameOrigin(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}
