import type { Server, Socket } from 'node:net';
import type { ConnectionOptions, TLSSocket, TLSSocketOptions, TlsOptions } from 'node:tls';
import { phases } from './agenda.ts';
import type { VirtualServer } from './virtual-server.ts';
import type { ConnectOptions, VirtualSocket } from './virtual-socket.ts';
import type { VirtualTime } from './virtual-time.ts';

type NodeTls = typeof import('node:tls');

interface Net {
  connect(options: ConnectOptions): VirtualSocket;
  createServer(options: object, accepted: (socket: VirtualSocket) => void): VirtualServer;
}

/** The functions of `node:tls` that open sockets, for a virtual network. The handshakes are Node’s own. */
export function tlsIn(
  tls: NodeTls,
  net: Net,
  time: VirtualTime,
): Pick<NodeTls, 'connect' | 'createServer' | 'TLSSocket'> {
  const { connect, createSecureContext } = tls;
  class PacedTlsSocket extends tls.TLSSocket {
    constructor(plain: Socket, options?: TLSSocketOptions) {
      super(oneAtATime(plain as unknown as VirtualSocket, time), options);
    }
  }
  const connectHere = (options: ConnectionOptions & ConnectOptions, connected?: () => void): TLSSocket => {
    if (options.socket) return connect(options, connected);
    // Before it dials, as Node does: it throws if the options cannot be used.
    const { host, port, lookup, secureContext = createSecureContext(options) } = options;
    const plain = oneAtATime(net.connect({ host, port, lookup }), time);
    return over(plain, connect({ ...options, secureContext, socket: plain }, connected));
  };
  const createServer = (options: TlsOptions | ((socket: TLSSocket) => void) = {}, accepted?: unknown): Server => {
    const [given, listener] = typeof options === 'function' ? [{}, options] : [options, accepted];
    const secureContext = createSecureContext(given);
    const server = net.createServer({}, (plain) => {
      const socket = new PacedTlsSocket(plain as unknown as Socket, { ...given, isServer: true, secureContext });
      const failed = (error: Error): void => void server.emit('tlsClientError', error, socket);
      socket.on('error', failed);
      socket.once('secure', () => {
        socket.off('error', failed);
        server.emit('secureConnection', socket);
      });
    });
    if (listener) server.on('secureConnection', listener as () => void);
    return server as unknown as Server;
  };
  return {
    connect: connectHere as NodeTls['connect'],
    createServer: createServer as NodeTls['createServer'],
    TLSSocket: PacedTlsSocket,
  };
}

/** Node shows the place of a connection by the handle of its socket, which a virtual one does not have. */
function over(plain: VirtualSocket, secure: TLSSocket): TLSSocket {
  plain.on('error', (error) => secure.destroy(error));
  plain.on('lookup', (...found: unknown[]) => secure.emit('lookup', ...found));
  for (const name of ['remoteAddress', 'remotePort', 'localAddress', 'localPort'] as const)
    Object.defineProperty(secure, name, { get: () => plain[name] });
  return secure;
}

/**
 * Node's adapter of streams for TLS finishes a write in a later turn, and fails if it has to write again before that.
 * Therefore bytes that arrive meanwhile wait.
 */
function oneAtATime(plain: VirtualSocket, time: VirtualTime): VirtualSocket {
  const { push, write } = plain as unknown as Record<'push' | 'write', (...args: unknown[]) => boolean>;
  const arrived: unknown[] = [];
  let writes = 0;
  const later = (run: () => void): void => void time.add(0, phases.check, run, { whose: plain.owner });
  const finished = (): void => {
    writes -= 1;
    while (writes === 0 && arrived.length > 0) push.call(plain, arrived.shift());
  };
  return Object.assign(plain, {
    push: (chunk: unknown) => (writes === 0 ? push.call(plain, chunk) : arrived.push(chunk) > 0),
    write: (...args: unknown[]) => {
      writes += 1;
      later(() => later(finished));
      return write.apply(plain, args);
    },
  });
}
