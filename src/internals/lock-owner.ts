import { hostname } from 'node:os';

/** Which process holds a lock, or waits for it. */
export interface LockOwner {
  /** The host's name. */
  readonly host: string;
  /** The number of the process there. */
  readonly pid: number;
  /** Its ZooKeeper session, as the servers' logs write it: `0x100000a2b3c0001`. */
  readonly sessionId: string;
}

/** This process, in a session. */
export function thisOwner(sessionId: string): LockOwner {
  return { host: hostname(), pid: process.pid, sessionId };
}

/** What a znode carries that says whose it is: readable for everybody, whatever their language. */
export function ownerData(): Buffer {
  return Buffer.from(JSON.stringify({ host: hostname(), pid: process.pid }));
}

/** Who wrote this, if it was written by {@link ownerData}. */
export function ownerIn(data: Buffer, sessionId: string): LockOwner | undefined {
  if (data.length > mostBytes || data[0] !== openingBrace) return undefined;
  try {
    const { host, pid } = JSON.parse(data.toString()) as Partial<LockOwner>;
    return typeof host === 'string' && Number.isSafeInteger(pid) ? { host, pid: pid as number, sessionId } : undefined;
  } catch {
    return undefined;
  }
}

const openingBrace = 0x7b;
/** A host's name has 253 characters at most. */
const mostBytes = 512;
