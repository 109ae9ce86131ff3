import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { listen, onFreshPorts } from './free-port.ts';

/** Accepts every TCP connection, reads all bytes, and never answers. */
export interface SilentServer extends AsyncDisposable {
  readonly port: number;
  readonly connectString: string;
  /** All connections, closed ones included. */
  readonly connections: readonly Socket[];
  /** Resolves with the `count`-th connection, also a past one. */
  connected(count?: number): Promise<Socket>;
  close(): Promise<void>;
}

export async function startSilentServer(): Promise<SilentServer> {
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => undefined);
    socket.resume();
  });
  const port = await onFreshPorts(1, ([candidate = 0]) => listen(server, candidate));

  const close = async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of connections) socket.destroy();
    await closed;
  };

  return {
    port,
    connectString: `127.0.0.1:${port}`,
    connections,
    connected: async (count = 1) => {
      const signal = AbortSignal.timeout(10_000);
      for (;;) {
        const socket = connections[count - 1];
        if (socket !== undefined) return socket;
        await once(server, 'connection', { signal });
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
