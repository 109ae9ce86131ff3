import { once } from 'node:events';
import { createServer, isIP } from 'node:net';
import { ConsoleServer } from '../../console/console-server.js';
import { isLoopback } from '../../console/request-guard.js';
import type { connectionOptions } from '../connect/connection.js';
import { exitCodeOfSignal } from '../exit-code.js';
import type { Io } from '../io.js';
import { UsageError } from '../usage-error.js';
import type { Arguments, OptionDescription } from '../verb.js';
import { openBoard } from './open-board.js';
import { printable } from '../../../../../src/support/printable.js';
import { unlessUnanswered } from './unanswered.js';

type ConsoleArguments = Arguments<
  typeof connectionOptions & {
    readonly host: OptionDescription & { readonly kind: 'text' };
    readonly port: OptionDescription & { readonly kind: 'integer' };
    readonly 'allow-revoke': OptionDescription & { readonly kind: 'flag' };
  }
>;

/** Serves the web console until a signal ends it. */
export function serveConsole(args: ConsoleArguments, io: Io): Promise<number> {
  const [root = '/'] = args.operands;
  const { host = '127.0.0.1', port = 8_080, 'allow-revoke': allowRevoke } = args.options;
  return unlessUnanswered(io, async () => {
    await tryToListen(host, port).catch((error: unknown) => refusePort(error, host, port));
    await using open = await openBoard(args, root, io);
    await using server = await ConsoleServer.start({ ...open, host, port, allowRevoke }).catch((error: unknown) =>
      refusePort(error, host, port),
    );
    if (allowRevoke && !isLoopback(host))
      io.stderr.write(`Warning: everyone who can reach ${host} can take these locks away. Put a login in front.\n`);
    io.stdout.write(`${server.url} shows the locks below ${printable(root)}\n`);
    return await untilSignal(io);
  });
}

/** Opens the port for a moment, so that a bad one is refused before anything is sent to a server. */
async function tryToListen(host: string, port: number): Promise<void> {
  // Node.js would listen on every address, or ask a name server for what looks like an address.
  if (host === '' || (/^[\d.]+$/.test(host) && isIP(host) === 0))
    throw new UsageError(`Expected --host to be an address of this machine, got ${JSON.stringify(host)}`);
  const server = createServer().listen(port, host);
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

function untilSignal(io: Io): Promise<number> {
  return new Promise((resolve) => {
    const stops = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) =>
      io.onSignal(signal, () => {
        for (const stop of stops) stop();
        resolve(exitCodeOfSignal(signal));
      }),
    );
  });
}

function refusePort(error: unknown, host: string, port: number): never {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') throw new UsageError(`Port ${port} of ${host} is in use: give another with --port`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    throw new UsageError(`${host} is no address of this machine: give another with --host`);
  if (code === 'EACCES') throw new UsageError(`Port ${port} needs more rights: give another with --port`);
  throw error;
}
