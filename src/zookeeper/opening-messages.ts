import zookeeper from 'node-zookeeper-client';
import type { Credential } from './connection-options.js';
import type { SessionIdentity } from './wire-session.js';

/**
 * The messages that open a connection, in the encoding of node-zookeeper-client. This is the only file that depends on
 * that library. It takes from the library the records ConnectRequest and AuthPacket, and nothing else: the library has
 * one fixed timeout for a connection, keeps requests for a later connection, never notices a silent server, and lacks
 * create2, sync, containers and removeWatches. So sockets, answers, requests and watches are this project's own.
 */
export function openingMessages({ identity, timeoutMs, auth }: Opening): OpeningMessages {
  const { id, password, lastZxid } = identity;
  const client = zookeeper.createClient('127.0.0.1', {
    sessionTimeout: timeoutMs,
    retries: 0,
    sessionId: id,
    sessionPassword: password,
  });
  for (const { scheme, credentials } of auth) client.addAuthInfo(scheme, Buffer.from(credentials));
  const manager = client.connectionManager;
  manager.zxid.writeBigInt64BE(lastZxid);
  const messages: Uint8Array[] = [];
  manager.socket = { write: (message) => messages.push(message) > 0 };
  manager.onSocketConnected();
  const [connectRequest = noMessage] = messages.splice(0);
  manager.state = connectedState;
  manager.onSocketDrain();
  return { connectRequest: notReadOnly(connectRequest), auth: messages };
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
  readonly identity: SessionIdentity;
  /** The session timeout to ask for, in milliseconds. */
  readonly timeoutMs: number;
  readonly auth: readonly Credential[];
}

export interface OpeningMessages {
  readonly connectRequest: Uint8Array;
  /** One message for each credential. They have no answer unless the server refuses one. */
  readonly auth: readonly Uint8Array[];
}

/** The library's own number. It writes requests only in this state. */
const connectedState = 2;

const noMessage = new Uint8Array(0);
