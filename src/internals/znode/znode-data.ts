import { hostname, networkInterfaces } from 'node:os';
import type { LockHost } from '../../client/lock-host.js';

/**
 * The data of a znode whose acquire gave none: the host's address, read once for each client as in Curator. The system
 * calls for it take 80 µs, which programs with a mutex per request would notice.
 */
export class DefaultData {
  readonly bytes = Buffer.from(localAddress());

  static of(host: LockHost): Buffer {
    return host.companions.of(DefaultData).bytes;
  }
}

/** The process that holds a lock, or waits for it. */
export interface LockOwner {
  /** The host name. */
  readonly host: string;
  /** The process id on that host. */
  readonly pid: number;
  /** The ZooKeeper session, written as in the servers' logs: `0x100000a2b3c0001`. */
  readonly sessionId: string;
}

/** This process, in a session. */
export function thisOwner(sessionId: string): LockOwner {
  return { host: hostName(), pid: process.pid, sessionId };
}

/** The data that names the owner of a znode. It is JSON, so that programs in every language can read it. */
export function ownerData(): Buffer {
  return Buffer.from(JSON.stringify({ host: hostName(), pid: process.pid }));
}

/** The owner in the data, if {@link ownerData} wrote the data; else undefined. */
export function ownerIn(data: Buffer, sessionId: string): LockOwner | undefined {
  if (data.length > mostBytes || data[0] !== openingBrace) return undefined;
  try {
    const { host, pid } = JSON.parse(data.toString()) as Partial<LockOwner>;
    return typeof host === 'string' && isPrintable(host) && Number.isSafeInteger(pid)
      ? { host, pid: pid as number, sessionId }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Every client can write the data. Control characters could forge lines of a log, or drive a terminal. */
function isPrintable(host: string): boolean {
  return /^[^\s\p{C}]+$/u.test(host);
}

const openingBrace = 0x7b;
/** A host name has at most 253 characters. */
const mostBytes = 512;

/** The host's address as text, which Curator writes into a lock's znode. */
export function localAddress(): string {
  const addresses = Object.values(unlessRefused(networkInterfaces, {})).flatMap((interfaces) => interfaces ?? []);
  const outer =
    addresses.find(({ family, internal }) => family === 'IPv4' && !internal) ??
    addresses.find(({ internal }) => !internal);
  return outer?.address ?? '127.0.0.1';
}

export function hostName(): string {
  return unlessRefused(hostname, 'localhost');
}

/** Some containers and phones refuse these system calls. A label must not fail a lock. */
function unlessRefused<T>(call: () => T, otherwise: T): T {
  try {
    return call();
  } catch {
    return otherwise;
  }
}

/**
 * A request to the owner of a lock's znode, written into the znode's data. `revoke` asks the owner to release. `force`
 * asks the owner to stop at once, because the znode will be deleted.
 */
export type Mark = 'revoke' | 'force';

/** `__REVOKE__` is Curator's mark, so Java holders obey it too. `__FORCE__` is this library's own mark. */
const texts: Record<Mark, string> = { revoke: '__REVOKE__', force: '__FORCE__' };

export function dataOf(mark: Mark): Buffer {
  return Buffer.from(texts[mark]);
}

/** Only the exact text is a mark, as in Curator. Any other text is a participant's data. */
export function markIn(data: Buffer): Mark | undefined {
  if (data.equals(dataOf('revoke'))) return 'revoke';
  return data.equals(dataOf('force')) ? 'force' : undefined;
}

/**
 * The data of a sticky lock's znode while the lock is idle: the holder's data, followed by a mark. No text ends with
 * this mark by chance.
 */
export function markIdle(data: Uint8Array): Buffer {
  return Buffer.concat([data, idleMark]);
}

export function isMarkedIdle(data: Buffer): boolean {
  return data.subarray(-idleMark.length).equals(idleMark);
}

export function withoutMark(data: Buffer): Buffer {
  return isMarkedIdle(data) ? data.subarray(0, -idleMark.length) : data;
}

const idleMark = Buffer.from('\0idle');
