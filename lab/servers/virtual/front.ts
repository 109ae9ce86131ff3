import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../free-port.ts';
import type { Security } from '../security.ts';
import { behindTls } from '../tls-front.ts';
import { SaslDesk } from './sasl-desk.ts';

/** Stands before an embedded server, and gives it what it lacks: TLS on the same port, and accounts of SASL. */
export interface Front {
  /** Ends all connections. Further ones are refused. */
  stop(): void;
}

export async function startFront(port: number, target: number, { tls, sasl }: Security): Promise<Front> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).on('close', () => void sockets.delete(socket));
  };
  const serve = (client: Socket): void => {
    const server = keep(connect(target, '127.0.0.1'));
    keep(client).on('close', () => server.destroy());
    server.on('close', () => client.destroySoon());
    server.on('data', (frames) => client.write(frames));
    const desk = sasl && new SaslDesk(sasl, client, server);
    client.on('data', (chunk: Buffer) => (desk ? desk.receive(chunk) : server.write(chunk)));
  };
  const listener = createServer((socket) => behindTls(keep(socket), serve, tls !== undefined));
  await listen(listener, port);
  return {
    stop: () => {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
