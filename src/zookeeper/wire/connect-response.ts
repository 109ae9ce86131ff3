import { Reader } from './wire.js';

/** The session that a server grants in its answer to the ConnectRequest. */
export interface ConnectResponse {
  /** The session timeout in milliseconds; 0 or less if the requested session has ended. */
  readonly timeoutMs: number;
  readonly sessionId: bigint;
  readonly password: Buffer;
}

/** ZooKeeper's ConnectResponse has 37 bytes. If the first frame is longer, the peer speaks another protocol. */
export const longestConnectResponse = 4 * 1024;

/** ZooKeeper's passwords have 16 bytes. */
const longestPassword = 64;
/**
 * A session sends six heartbeats and six syncs per timeout. With a timeout of 1 ms, they would keep the process and the
 * server busy all the time.
 */
const shortestTimeoutMs = 100;

/**
 * Reads the first frame of a connection. The peer has proven nothing yet, so every length is checked before memory is
 * allocated. Bytes after the known fields are skipped, as in Java's client.
 *
 * @throws RangeError for a frame that no ZooKeeper server sends, and for a grant that this client cannot use
 */
export function readConnectResponse(frame: Buffer): ConnectResponse {
  const from = new Reader(frame, 4);
  from.int();
  const timeoutMs = from.int();
  const sessionId = from.long();
  const passwordLength = from.peekInt();
  if (passwordLength < 0 || passwordLength > longestPassword)
    throw new RangeError(`A session password of ${passwordLength} bytes is not ZooKeeper's`);
  const password = from.bytes();
  // Servers before 3.4 do not send this field.
  const isReadOnly = !from.isAtEnd && from.flag();
  if (timeoutMs <= 0) return { timeoutMs: 0, sessionId: 0n, password };
  if (isReadOnly)
    throw new RangeError('The server is read-only: it has no quorum, so it cannot keep a session that holds locks');
  if (timeoutMs < shortestTimeoutMs)
    throw new RangeError(
      `The server granted a session timeout of ${timeoutMs} ms: at least ${shortestTimeoutMs} ms are needed`,
    );
  if (sessionId === 0n) throw new RangeError('The server granted a session without an id');
  return { timeoutMs, sessionId, password };
}
