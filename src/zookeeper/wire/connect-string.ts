import { printableJson } from '../../support/printable.js';
import { shown } from '../../support/validate.js';
import { isIPv6 } from 'node:net';
import { validatePath } from './path.js';

/** A parsed connect string. `chroot` is '' if there is none, else a path that does not end with `/`. */
export interface ConnectString {
  readonly hosts: readonly Host[];
  readonly chroot: string;
}

/** The servers of one ensemble. The list may change. It may be unknown at first: then it has no hosts. */
export interface Servers extends ConnectString {
  /** A round over all servers has failed, or an outage lasts long: a newer list is welcome. */
  ask?(outageMs: number): void;
  /** Calls `listener` when the list has changed. */
  onChange?(listener: () => void): () => void;
}

/** One server of the ensemble. An IPv6 address has no brackets here. */
export interface Host {
  readonly host: string;
  readonly port: number;
}

/**
 * Parses `host[:port][,host[:port]…][/chroot]`, as ZooKeeper's ConnectStringParser does. It refuses what that parser
 * skips or misreads: an empty host, an empty port, port 0, an IPv6 address without brackets, and a chroot behind each
 * host. The default port is 2181. A chroot of `/` means no chroot. White space around a host is removed.
 *
 * @param orElse what is accepted beside a text, for the error
 * @throws TypeError with the mistake in its message. Its `cause` is the InvalidPathError if the chroot is invalid
 * @example
 * parseConnectString('zk1, [::1]:2182/app');
 * // { hosts: [{ host: 'zk1', port: 2181 }, { host: '::1', port: 2182 }], chroot: '/app' }
 */
export function parseConnectString(text: unknown, orElse = ''): ConnectString {
  if (typeof text !== 'string')
    throw new TypeError(
      `${expected}${orElse}, got ${shown(text)}${Array.isArray(text) ? ': join the hosts by commas' : ''}`,
    );
  refuseUrl(text);
  const slash = text.indexOf('/');
  const servers = slash < 0 ? text : text.slice(0, slash);
  if (servers.trim() === '') throw refusal(text, 'it names no host');
  return {
    hosts: servers.split(',').map((server) => parseServer(text, server.trim())),
    chroot: slash < 0 ? '' : parseChroot(text, text.slice(slash)),
  };
}

/**
 * The hosts in the form of a connect string, with all ports, for messages and logs.
 *
 * @example
 * describeHosts(parseConnectString('zk1,zk2/app')); // 'zk1:2181,zk2:2181'
 */
export function describeHosts({ hosts }: Pick<ConnectString, 'hosts'>): string {
  return hosts.map(nameOf).join(',');
}

/** One host in that form. */
export function nameOf({ host, port }: Host): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The hosts and the chroot: the same text whatever the order of the hosts. */
export function addressOf({ hosts, chroot }: ConnectString): string {
  const sorted = hosts.toSorted((a, b) => (a.host < b.host ? -1 : Number(a.host > b.host)) || a.port - b.port);
  return `${describeHosts({ hosts: sorted })}${chroot}`;
}

const expected = 'Expected `connectString` to be host[:port][,host[:port]…][/chroot]';

const defaultPort = 2181;

// Users bring such URLs from other tools (zk://user:secret@host).
function refuseUrl(text: string): void {
  if (/^\s*[a-z][a-z0-9+.-]*:\/\//i.test(text))
    throw refusal(text, `leave out the scheme${text.includes('@') ? `, and the user: ${advice}` : ''}`);
  if (/^[^/]*@/.test(text)) throw refusal(text, `leave out the user: ${advice}`);
}

const advice = 'credentials go into the `auth` option, or into `sasl` or `tls`';

function parseServer(text: string, server: string): Host {
  if (server === '') throw refusal(text, 'it has an empty host');
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::([^:]*))?$/.exec(server) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined) throw refusal(text, unreadable(server));
  const isHost = bracketed === undefined ? isHostName(host) : isIPv6(host);
  if (!isHost) throw refusal(text, host === '' ? `${printableJson(server)} has no host` : unreadable(server));
  return { host, port: port === undefined ? defaultPort : parsePort(text, server, port) };
}

function isHostName(host: string): boolean {
  return /^[\p{L}\p{M}\p{N}._-]+$/u.test(host);
}

function unreadable(server: string): string {
  if (isIPv6(server) || isIPv6(server.replace(/:\d+$/, '')))
    return `${printableJson(server)} is an IPv6 address and needs brackets, as in [::1]:${defaultPort}`;
  return `${printableJson(server)} is neither a host name nor an IP address`;
}

function parsePort(text: string, server: string, port: string): number {
  const number = Number(port);
  if (/^\d+$/.test(port) && number >= 1 && number <= 65_535) return number;
  throw refusal(text, `the port of ${printableJson(server)} must be a whole number from 1 to 65535`);
}

function parseChroot(text: string, chroot: string): string {
  if (chroot === '/') return '';
  // White space is legal at the end of a znode name, but almost certainly a mistake that would put two programs into
  // two different trees.
  if (chroot !== chroot.trimEnd()) throw refusal(text, 'its chroot ends with white space');
  // A comma is legal in a znode name, but almost certainly a chroot behind each host.
  if (chroot.includes(','))
    throw refusal(
      text,
      `its chroot ${printableJson(chroot)} contains a comma; the chroot stands once, behind the last host`,
    );
  try {
    return validatePath(chroot);
  } catch (cause) {
    throw refusal(text, cause instanceof Error ? cause.message : 'its chroot is invalid', { cause });
  }
}

/**
 * The part before the last `@` may be a password with any characters, so neither the text nor the reason shows a part of
 * it.
 */
function refusal(text: string, why: string, options?: ErrorOptions): TypeError {
  const got = `${expected}, got ${printableJson(text.replace(/^.*@/s, '***@'))}`;
  if (!text.includes('@')) return new TypeError(`${got}: ${why}`, options);
  return new TypeError(
    `${got}: ${why.includes(advice) ? why : `it cannot be read. Of a user and a password: ${advice}`}`,
  );
}
