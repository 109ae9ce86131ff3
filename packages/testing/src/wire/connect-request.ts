import { JuteReader, JuteWriter } from './jute.js';

/** The first frame of a connection. */
export interface ConnectRequest {
  readonly lastZxid: number;
  readonly timeoutMs: number;
  /** 0n asks for a new session. */
  readonly sessionId: bigint;
  readonly password: Buffer;
  /**
   * True if the request ends with a read-only flag. Clients before ZooKeeper 3.4 send none, and get none in the
   * response.
   */
  readonly saysReadOnly: boolean;
}

/** @throws Refusal if the record is cut short */
export function readConnectRequest(body: Buffer, maxBufferBytes: number): ConnectRequest {
  const reader = new JuteReader(body, maxBufferBytes * 2);
  reader.int();
  const lastZxid = Number(reader.long());
  const timeoutMs = reader.int();
  const sessionId = reader.long();
  const password = reader.bytes() ?? Buffer.alloc(0);
  return { lastZxid, timeoutMs, sessionId, password, saysReadOnly: !reader.isAtEnd };
}

/** Undefined means that the session is refused: it is unknown or over, or the password is wrong. */
export function connectResponse(
  granted: { id: bigint; timeoutMs: number; password: Buffer } | undefined,
  saysReadOnly: boolean,
): Buffer {
  const { id, timeoutMs, password } = granted ?? { id: 0n, timeoutMs: 0, password: Buffer.alloc(16) };
  const writer = new JuteWriter().int(0).int(timeoutMs).long(id).bytes(password);
  return (saysReadOnly ? writer.flag(false) : writer).frame();
}
