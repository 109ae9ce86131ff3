import { ensureDebianZooKeeper } from './debian-zookeeper.ts';
import { onFreshPorts } from './free-port.ts';
import { LocalZooKeeper, type ServerOptions, type ZooKeeperServer } from './local-zookeeper.ts';

export { startEnsemble, type Ensemble } from './zookeeper-ensemble.ts';
export type { ServerOptions, ZooKeeperServer };

/**
 * Starts a real ZooKeeper on a free port of 127.0.0.1, and resolves when it serves.
 *
 * @example
 * await using server = await startServer({ tickTimeMs: 200, containerCheckMs: 10 });
 */
export async function startServer(options: ServerOptions = {}): Promise<ZooKeeperServer> {
  await ensureDebianZooKeeper();
  return onFreshPorts(1, async ([port = 0]) => {
    const server = new LocalZooKeeper({ main: 'standalone', port }, options);
    try {
      await server.start();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  });
}
