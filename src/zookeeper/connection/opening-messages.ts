// Only the records: the package's index would load async and underscore, which take longer than all of the lock.
import jute from 'node-zookeeper-client/lib/jute/index.js';
import type { Credential } from './connection-options.js';
import type { SessionIdentity } from '../wire/wire-session.js';

/**
 * The messages that open a connection, in the encoding of node-zookeeper-client. This is the only file that depends on
 * that library. It takes from the library the records ConnectRequest and AuthPacket, and nothing else: the library has
 * one fixed timeout for a connection, keeps requests for a later connection, never notices a silent server, and lacks
 * create2, sync, containers and removeWatches. So sockets, answers, requests and watches are this project's own.
 */
export class OpeningMessages {
  readonly #auth: readonly Uint8Array[];

  constructor(auth: readonly Credential[]) {
    this.#auth = auth.map(({ scheme, credentials }) => {
      const header = new protocol.RequestHeader(jute.XID_AUTHENTICATION, jute.OP_CODES.AUTH);
      return new jute.Request(header, new protocol.AuthPacket(0, scheme, Buffer.from(credentials))).toBuffer();
    });
  }

  /** @param timeoutMs the session timeout to ask for, in milliseconds */
  of({ id, password, lastZxid }: SessionIdentity, timeoutMs: number): Opening {
    const zxid = Buffer.alloc(8);
    zxid.writeBigInt64BE(lastZxid);
    const record = new protocol.ConnectRequest(jute.PROTOCOL_VERSION, zxid, timeoutMs, id, password);
    return { connectRequest: notReadOnly(new jute.Request(null, record).toBuffer()), auth: this.#auth };
  }
}

/**
 * The library's record ends before the flag `readOnly`. A server that misses the flag writes a warning to its log for
 * every connection.
 */
function notReadOnly(record: Uint8Array): Buffer {
  const whole = Buffer.concat([record, Buffer.alloc(1)]);
  whole.writeInt32BE(whole.length - 4, 0);
  return whole;
}

export interface Opening {
  readonly connectRequest: Uint8Array;
  /** One message for each credential. They have no answer unless the server refuses one. */
  readonly auth: readonly Uint8Array[];
}

const { protocol } = jute;
