import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { RecordWriter } from '../wire/record.ts';
import { listen, onFreshPorts } from './free-port.ts';
import { behindTls } from './tls-front.ts';

/**
 * The action of a fake server when the first bytes of a connection have arrived: `end` sends these bytes and closes,
 * `stay` sends these bytes and stays, `stream` sends these bytes as fast as the client reads them, `relayTo` connects to
 * a real server.
 */
export type FakeAnswer =
  | { readonly end: Buffer }
  | { readonly stay: Buffer }
  | { readonly stream: Iterable<Buffer> }
  | { readonly relayTo: number };

/** Sends the bytes of a test in place of a ConnectResponse. */
export interface FakeServer extends AsyncDisposable {
  readonly port: number;
  readonly connectString: string;
  /** The number of connections that have sent something. */
  readonly asked: number;
  /** The open connections, for bytes that a test adds. */
  sockets(): readonly Socket[];
}

/**
 * @example
 * await using fake = await startFakeServer(() => ({ end: connectResponse({ timeoutMs: 1 }) }));
 */
export async function startFakeServer(
  answer: (connection: number, request: Buffer) => FakeAnswer,
): Promise<FakeServer> {
  const sockets = new Set<Socket>();
  let asked = 0;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  };
  const server = createServer((accepted) => {
    keep(accepted);
    behindTls(accepted, (socket) => serve(socket));
  });
  const serve = (socket: Socket): void => {
    keep(socket);
    socket.once('data', (request) => {
      const reaction = answer(++asked, request);
      if ('end' in reaction) socket.resume().end(reaction.end);
      else if ('stay' in reaction) socket.resume().write(reaction.stay);
      else if ('stream' in reaction) Readable.from(reaction.stream).pipe(socket.resume());
      else {
        const real = connect(reaction.relayTo, '127.0.0.1');
        keep(real);
        real.write(request);
        socket.pipe(real).pipe(socket);
        socket.once('close', () => real.destroy());
        real.once('close', () => socket.destroy());
      }
    });
  };
  const port = await onFreshPorts(1, ([candidate = 0]) => listen(server, candidate));
  return {
    port,
    connectString: `127.0.0.1:${port}`,
    get asked() {
      return asked;
    },
    sockets: () => [...sockets],
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** A ConnectResponse with its length in front. Fields that are left out have the values of a normal server. */
export function connectResponse(
  fields: {
    timeoutMs?: number;
    sessionId?: bigint;
    passwordLength?: number;
    password?: Buffer;
    readOnly?: boolean;
  } = {},
): Buffer {
  const {
    timeoutMs = 4_000,
    sessionId = 0x1000_0000_1234n,
    password = Buffer.alloc(16, 7),
    passwordLength = password.length,
    readOnly = false,
  } = fields;
  const head = new RecordWriter().int(0).int(timeoutMs).long(sessionId).int(passwordLength);
  return head.raw(password).flag(readOnly).frame();
}
