import type { ConnectResponse } from './connect-response.js';

/** The names by which a session and its servers know each other, and the numbers of its requests. */
export class WireSession {
  #id: Buffer;
  #password: Buffer;
  #lastZxid: bigint;
  #xid: number;
  /** The timeout that the last server granted, in milliseconds. Before the first grant: the one to ask for. */
  timeoutMs: number;

  constructor({ resume, sessionTimeoutMs, firstXid = 1 }: WireSessionOptions) {
    const { id = Buffer.alloc(8), password = Buffer.alloc(16), lastZxid = 0n } = resume ?? {};
    this.#id = id;
    this.#password = password;
    this.#lastZxid = lastZxid;
    this.#xid = firstXid;
    this.timeoutMs = sessionTimeoutMs;
  }

  get identity(): SessionIdentity {
    return { id: this.#id, password: this.#password, lastZxid: this.#lastZxid };
  }

  /** 0 before the first grant. */
  get id(): bigint {
    return this.#id.readBigInt64BE();
  }

  /** The newest transaction that any answer has shown. */
  get lastZxid(): bigint {
    return this.#lastZxid;
  }

  granted({ sessionId, password, timeoutMs }: ConnectResponse): void {
    this.#id = Buffer.alloc(8);
    this.#id.writeBigInt64BE(sessionId);
    this.#password = password;
    this.timeoutMs = timeoutMs;
  }

  /**
   * An answer showed this zxid. An error reply carries the zxid -1 or 0. If the client handed that to the next server, a
   * server that lags behind would accept the client.
   */
  heard(zxid: bigint): void {
    if (zxid > this.#lastZxid) this.#lastZxid = zxid;
  }

  /**
   * The number of the next request. Java's client leaves out 2^31 - 1, too: ClickHouse Keeper takes the answer with that
   * number for the end of the session, and ends the connection.
   */
  nextXid(): number {
    const xid = this.#xid;
    this.#xid = xid < 0x7ffffffe ? xid + 1 : 1;
    return xid;
  }
}

/** The name of a session on the servers. It is enough to attach to the session from another connection. */
export interface SessionIdentity {
  readonly id: Buffer;
  readonly password: Buffer;
  readonly lastZxid: bigint;
}

interface WireSessionOptions {
  readonly sessionTimeoutMs: number;
  /** The session to attach to, instead of opening a new one. */
  readonly resume?: SessionIdentity;
  readonly firstXid?: number;
}

/** A session id written as in the servers' logs: `0x100000a2b3c0001`. */
export function sessionName(id: bigint): string {
  return `0x${BigInt.asUintN(64, id).toString(16)}`;
}
