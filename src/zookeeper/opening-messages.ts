import zookeeper, { type ConnectionManager } from 'node-zookeeper-client';
import type { Credential } from './connection-options.js';
import type { SessionIdentity } from './wire-session.js';

/**
 * The messages that open a connection, in the encoding of node-zookeeper-client. This is the only file that depends on
 * that library. It takes from the library the records ConnectRequest and AuthPacket, and nothing else: the library has
 * one fixed timeout for a connection, keeps requests for a later connection, never notices a silent server, and lacks
 * create2, sync, containers and removeWatches. So sockets, answers, requests and watches are this project's own.
 */
export class OpeningMessages {
  readonly #manager: ConnectionManager;
  readonly #written: Uint8Array[] = [];

  constructor(auth: readonly Credential[]) {
    const client = zookeeper.createClient('127.0.0.1', { retries: 0 });
    for (const { scheme, credentials } of auth) client.addAuthInfo(scheme, Buffer.from(credentials));
    this.#manager = client.connectionManager;
    this.#manager.socket = { write: (message) => this.#written.push(message) > 0 };
  }

  /** @param timeoutMs the session timeout to ask for, in milliseconds */
  of({ id, password, lastZxid }: SessionIdentity, timeoutMs: number): Opening {
    const manager = this.#manager;
    manager.state = connectingState;
    manager.sessionTimeout = timeoutMs;
    manager.sessionId = id;
    manager.sessionPassword = password;
    manager.zxid.writeBigInt64BE(lastZxid);
    manager.onSocketConnected();
    const [connectRequest = noMessage] = this.#written.splice(0);
    manager.state = connectedState;
    manager.onSocketDrain();
    return { connectRequest: notReadOnly(connectRequest), auth: this.#written.splice(0) };
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

/** The library's own numbers. It writes requests only when it is connected. */
const connectingState = 1;
const connectedState = 2;

const noMessage = new Uint8Array(0);
