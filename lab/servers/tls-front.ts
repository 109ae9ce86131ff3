import { createSecureContext, TLSSocket } from 'node:tls';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { keyFile } from './tls-keys.ts';

/** True if the tests run over TLS: see `scripts/tls.mjs`. */
export const isOverTls = process.env['ZK_TLS'] === '1';

/**
 * Calls `accepted` with the socket, or with its decrypted side if the client speaks TLS. Without TLS, the socket is
 * passed on at once.
 */
export function behindTls(socket: Socket, accepted: (plain: Socket) => void, hasTls = isOverTls): void {
  if (!hasTls) {
    accepted(socket);
    return;
  }
  socket.on('error', () => undefined);
  socket.once('readable', () => {
    const first = socket.read() as Buffer | null;
    if (first === null) return;
    socket.unshift(first);
    if (first[0] !== handshake) {
      accepted(socket);
      return;
    }
    const secure = new TLSSocket(socket, { isServer: true, secureContext: contextOfServer() });
    secure.on('error', () => undefined);
    accepted(secure);
  });
}

/** TLS's ContentType of the first message. A ZooKeeper frame begins with the byte 0. */
const handshake = 22;

let context: ReturnType<typeof createSecureContext> | undefined;

function contextOfServer(): ReturnType<typeof createSecureContext> {
  context ??= createSecureContext({
    cert: readFileSync(keyFile('server', 'pem')),
    key: readFileSync(keyFile('server', 'key')),
  });
  return context;
}
