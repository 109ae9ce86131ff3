import { ensureServerJars } from './server-jars.ts';
import { virtualMachine } from '../world.ts';
import { onFreshPorts } from './free-port.ts';
import { VirtualEnsemble } from './virtual/virtual-ensemble.ts';
import { VirtualZooKeeper } from './virtual/virtual-zookeeper.ts';
import { LocalZooKeeper, type ServerOptions, type ZooKeeperServer } from './local-zookeeper.ts';

import { startRealEnsemble, type Ensemble } from './zookeeper-ensemble.ts';
export type { Ensemble, ServerOptions, ZooKeeperServer };

/** Starts a ZooKeeper for one suite or test, real or virtual as the world is. Resolves when it serves. */
export function startServer(options: ServerOptions = {}): Promise<ZooKeeperServer> {
  return virtualMachine ? VirtualZooKeeper.start(virtualMachine, options) : startRealServer(options);
}

/**
 * Starts a real ZooKeeper on a free port of 127.0.0.1, and resolves when it serves.
 *
 * @example
 * await using server = await startRealServer({ tickTimeMs: 200, containerCheckMs: 10 });
 */
export async function startRealServer(options: ServerOptions = {}): Promise<ZooKeeperServer> {
  if (options.keeper ?? options.answersPerSecond ?? options.version)
    throw new Error('Only a virtual server imitates another one, or has a pace');
  await ensureServerJars();
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

/** Starts an ensemble, real or virtual as the world is. Resolves when every member serves. */
export function startEnsemble(size = 3, options: ServerOptions = {}): Promise<Ensemble> {
  return virtualMachine ? VirtualEnsemble.start(virtualMachine, size, options) : startRealEnsemble(size, options);
}
