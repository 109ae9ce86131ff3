import { hostName } from './local-address.js';

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
