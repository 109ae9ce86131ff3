import { Reader } from './wire.js';

/** What a server grants in its answer to the ConnectRequest. */
export interface ConnectResponse {
  /** The session timeout in milliseconds; 0 or less when the session that was asked for is over. */
  readonly timeoutMs: number;
  readonly sessionId: bigint;
  readonly password: Buffer;
}

/** ZooKeeper's ConnectResponse has 37 bytes. A longer frame before the session exists is another protocol's. */
export const longestConnectResponse = 4 * 1024;

/** ZooKeeper's passwords have 16 bytes. */
const longestPassword = 64;
/**
 * Six heartbeats and six syncs are sent in one timeout: with 1 ms they would keep the process and the server busy with
 * nothing else.
 */
const shortestTimeoutMs = 100;

/**
 * Reads the first frame of a connection. It comes from a peer that has proven nothing, so every length is checked
 * before anything is allocated.
 * What follows the known fields is passed over, as Java's client does.
 *
 * @throws RangeError for a frame that no ZooKeeper server sends, and for a grant that this client cannot live with
 */
export function readConnectResponse(frame: Buffer, askedFor: bigint): ConnectResponse {
  const from = new Reader(frame, 4);
  from.int();
  const timeoutMs = from.int();
  const sessionId = from.long();
  const passwordLength = from.peekInt();
  if (passwordLength < 0 || passwordLength > longestPassword)
    throw new RangeError(`A session password of ${passwordLength} bytes is not ZooKeeper's`);
  const password = from.bytes();
  // Servers before 3.4 do not send it.
  const isReadOnly = !from.isAtEnd && from.flag();
  if (timeoutMs <= 0) return { timeoutMs: 0, sessionId: 0n, password };
  if (isReadOnly)
    throw new RangeError('The server is read-only: it has no quorum, so it cannot keep a session that holds locks');
  if (timeoutMs < shortestTimeoutMs)
    throw new RangeError(
      `The server granted a session timeout of ${timeoutMs} ms: at least ${shortestTimeoutMs} ms are needed`,
    );
  if (sessionId === 0n) throw new RangeError('The server granted a session without an id');
  // A session keeps its id for life: under another id, znodes of the old one would be taken for its own.
  if (askedFor !== 0n && sessionId !== askedFor) {
    throw new RangeError(`The server granted session 0x${hex(sessionId)} where 0x${hex(askedFor)} was asked for`);
  }
  return { timeoutMs, sessionId, password };
}

function hex(id: bigint): string {
  return BigInt.asUintN(64, id).toString(16);
}
