import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../free-port.ts';
import type { Security } from '../security.ts';
import { behindTls } from '../tls-front.ts';
import { KeeperDesk, type KeeperVersion } from './keeper-desk.ts';
import { Pace } from './pace.ts';
import { SaslDesk } from './sasl-desk.ts';

/**
 * Stands before an embedded server, and gives it what it lacks: TLS on the same port, accounts of SASL, a limit of
 * connections, a pace, and the differences of ClickHouse Keeper.
 */
export interface Front {
  /** Ends all connections. Further ones are refused. */
  stop(): void;
}

export interface FrontOptions extends Pick<Security, 'tls' | 'sasl'> {
  /** As ZooKeeper does: a further connection is closed before a byte of it is read. 0 for no limit. */
  readonly maxClientCnxns?: number;
  /** The most answers that one connection gets in a second. */
  readonly answersPerSecond?: number;
  readonly keeper?: KeeperVersion;
}

export async function startFront(port: number, target: number, options: FrontOptions): Promise<Front> {
  const { tls, maxClientCnxns = 0 } = options;
  const sockets = new Set<Socket>();
  let clients = 0;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).on('close', () => void sockets.delete(socket));
  };
  const serve = (client: Socket): void => {
    const server = keep(connect(target, '127.0.0.1'));
    keep(client).on('close', () => server.destroy());
    server.on('close', () => client.destroySoon());
    client.once('data', (first: Buffer) => {
      const desk = first.length === wordBytes ? plainDesk(client, server) : deskOf(options, client, server);
      desk.receive(first);
      client.on('data', (chunk: Buffer) => desk.receive(chunk));
      server.on('data', (chunk: Buffer) => desk.answer(chunk));
    });
  };
  const listener = createServer((socket) => {
    if (maxClientCnxns > 0 && clients >= maxClientCnxns) {
      socket.on('error', () => undefined).destroy();
      return;
    }
    clients += 1;
    socket.once('close', () => (clients -= 1));
    behindTls(keep(socket), serve, tls !== undefined);
  });
  await listen(listener, port);
  return {
    stop: () => {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** One connection, between its client and the server. */
interface Desk {
  /** Bytes of the client. */
  receive(chunk: Buffer): void;
  /** Bytes of the server. */
  answer(chunk: Buffer): void;
}

function deskOf({ sasl, keeper, answersPerSecond }: FrontOptions, client: Socket, server: Socket): Desk {
  if (keeper) return new KeeperDesk(keeper, client, server);
  const plain = plainDesk(client, server);
  const pace = answersPerSecond === undefined ? undefined : new Pace(client, answersPerSecond);
  const desk = sasl && new SaslDesk(sasl, client, server);
  return {
    receive: (chunk) => (desk ?? plain).receive(chunk),
    answer: (chunk) => (pace ?? plain).answer(chunk),
  };
}

function plainDesk(client: Socket, server: Socket): Desk {
  return {
    receive: (chunk) => void server.write(chunk),
    answer: (chunk) => void client.write(chunk),
  };
}

/** A four-letter word comes alone; a ConnectRequest is longer. */
const wordBytes = 4;
