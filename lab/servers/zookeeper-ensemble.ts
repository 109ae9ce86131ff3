import { setTimeout as delay } from 'node:timers/promises';
import { ensureServerJars } from './server-jars.ts';
import { onFreshPorts } from './free-port.ts';
import { serverMode } from './four-letter-word.ts';
import { LocalZooKeeper, type ServerOptions, type ZooKeeperServer } from './local-zookeeper.ts';

/** An ensemble of servers, each in its own process. */
export interface Ensemble extends AsyncDisposable {
  readonly servers: readonly ZooKeeperServer[];
  readonly connectString: string;
  /** The member that reports that it leads. Waits up to 30 s during an election. */
  leader(): Promise<ZooKeeperServer>;
  stop(): Promise<void>;
}

const leaderLimitMs = 30_000;
const pollMs = 25;

/** Starts an ensemble of processes, and resolves when every member serves. */
export async function startRealEnsemble(size: number, options: ServerOptions): Promise<Ensemble> {
  await ensureServerJars();
  return onFreshPorts(size * 3, async (ports) => {
    const ensemble = new LocalEnsemble(createMembers(size, ports, options));
    try {
      await ensemble.start();
    } catch (error) {
      await ensemble.stop();
      throw error;
    }
    return ensemble;
  });
}

class LocalEnsemble implements Ensemble {
  readonly servers: readonly ZooKeeperServer[];
  readonly connectString: string;

  constructor(servers: readonly ZooKeeperServer[]) {
    this.servers = servers;
    this.connectString = servers.map((server) => server.connectString).join(',');
  }

  async start(): Promise<void> {
    const starts = await Promise.allSettled(this.servers.map((server) => server.start()));
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
  }

  async leader(): Promise<ZooKeeperServer> {
    const deadline = performance.now() + leaderLimitMs;
    while (performance.now() < deadline) {
      const modes = await Promise.all(this.servers.map((server) => serverMode('127.0.0.1', server.port)));
      const leader = this.servers[modes.indexOf('leader')];
      if (leader !== undefined) return leader;
      await delay(pollMs);
    }
    throw new Error(`No member of ${this.connectString} reported within ${leaderLimitMs} ms that it leads`);
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

function createMembers(size: number, ports: readonly number[], options: ServerOptions): LocalZooKeeper[] {
  const ids = Array.from({ length: size }, (_, index) => index + 1);
  const clientPort = (id: number) => ports[id - 1] ?? 0;
  const votes = ids.map((id) => [
    `server.${id}`,
    `127.0.0.1:${ports[size + id - 1] ?? 0}:${ports[2 * size + id - 1] ?? 0}`,
  ]);
  const config = { initLimit: 20, syncLimit: 10, ...(Object.fromEntries(votes) as Record<string, string>) };
  return ids.map((id) => new LocalZooKeeper({ main: 'quorum', port: clientPort(id), id }, options, config));
}
