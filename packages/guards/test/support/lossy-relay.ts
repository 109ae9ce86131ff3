import { connect, createServer, type Socket } from 'node:net';
import { listen, onFreshPorts } from '../../../../lab/servers/free-port.ts';

/**
 * Passes on bytes between clients and a server, until a client sends `word`. The answer to that is lost, and the
 * connection ends in this way. Later connections pass all on, if it is to be lost `once`.
 */
export async function loseAnswerTo(
  word: string,
  target: number,
  { end = 'destroy', once = false }: { readonly end?: 'destroy' | 'resetAndDestroy'; readonly once?: boolean } = {},
): Promise<AsyncDisposable & { readonly port: number }> {
  const sockets = new Set<Socket>();
  let isLost = false;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    upstream.on('data', (bytes) => client.write(bytes));
    client.on('data', (bytes) => {
      upstream.write(bytes);
      if (!bytes.includes(word) || (isLost && once)) return;
      isLost = true;
      upstream.removeAllListeners('data');
      upstream.once('data', () => {
        client[end]();
        upstream.destroy();
      });
    });
  });
  const port = await onFreshPorts(1, ([candidate = 0]) => listen(server, candidate));
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
