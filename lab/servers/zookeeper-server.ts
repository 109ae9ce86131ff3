import { ensureDebianZooKeeper } from './debian-zookeeper.ts';
import { AdviceError } from './docker/advice.ts';
import { EmbeddedHere } from './embedded-here.ts';
import { EmbeddedProcess } from './embedded-process.ts';
import { virtualMachine } from '../world.ts';
import { onFreshPorts } from './free-port.ts';
import { LocalZooKeeper, type ServerOptions, type ZooKeeperServer } from './local-zookeeper.ts';

export { startEnsemble, type Ensemble } from './zookeeper-ensemble.ts';
export type { ServerOptions, ZooKeeperServer };

/**
 * Starts a ZooKeeper for one suite or test, like `startRealServer`. On a machine that cannot have a real one, it is an
 * embedded one. With TEST_SERVERS=embedded, it is an embedded one in this process, if that can have these options.
 */
export async function startServer(options: ServerOptions = {}): Promise<ZooKeeperServer> {
  if (prefersEmbedded() && EmbeddedHere.isEnoughFor(options)) return EmbeddedHere.start(options);
  try {
    return await startRealServer(options);
  } catch (error) {
    if (error instanceof AdviceError) return EmbeddedProcess.start(options, error);
    throw error;
  }
}

export function prefersEmbedded(): boolean {
  return virtualMachine !== undefined || process.env['TEST_SERVERS'] === 'embedded';
}

/**
 * Starts a real ZooKeeper on a free port of 127.0.0.1, and resolves when it serves.
 *
 * @example
 * await using server = await startRealServer({ tickTimeMs: 200, containerCheckMs: 10 });
 */
export async function startRealServer(options: ServerOptions = {}): Promise<ZooKeeperServer> {
  await ensureDebianZooKeeper();
  const hasSecurePort = options.security?.tls === 'own-port';
  return onFreshPorts(hasSecurePort ? 2 : 1, async ([port = 0, securePort]) => {
    const place = { main: 'standalone', port, ...(securePort !== undefined && { securePort }) } as const;
    const server = new LocalZooKeeper(place, options);
    try {
      await server.start();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  });
}
