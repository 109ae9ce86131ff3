import { connect, createServer, type Socket } from 'node:net';
import { PortTakenError } from '../servers/free-port.ts';

/** Listens on another address of this machine, and forwards bytes to a server on 127.0.0.1, or to no server. */
export interface Relay extends AsyncDisposable {
  /** The number of connections. */
  readonly connections: number;
  /** Ends all connections. */
  cut(): void;
}

/** @param target the port of the server; without it the relay accepts connections and stays silent */
export async function startRelay(address: string, port: number, target?: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).on('close', () => void sockets.delete(socket));
  };
  const server = createServer((near) => {
    connections += 1;
    keep(near).resume();
    if (target === undefined) return;
    const far = keep(connect(target, '127.0.0.1'));
    near.pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new PortTakenError(error.message) : error),
    );
    server.listen(port, address, resolve);
  });
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    get connections() {
      return connections;
    },
    cut,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}
