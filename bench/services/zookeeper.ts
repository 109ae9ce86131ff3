import {
  startEnsemble,
  startRealServer,
  type Ensemble,
  type ServerOptions,
  type ZooKeeperServer,
} from '../../lab/servers/zookeeper-server.ts';
import type { Place } from '../places.ts';
import { mntrFigure } from './figures.ts';
import { placesOf, sum, type Service, type ServiceOptions, type Traffic } from './service.ts';

export interface ZooKeeperService extends Service {
  /** The connect string of the single server. */
  readonly connectString: string;
  readonly version: string;
}

/**
 * The server that users run: Debian's usual JVM, and ZooKeeper's usual tick. `--brief` takes the JVM that starts sooner.
 */
function asUsersRunIt(isBrief: boolean): ServerOptions {
  return { tickTimeMs: 2_000, jvm: isBrief ? 'small' : 'usual' };
}

export async function startZooKeeper({ links, isBrief }: ServiceOptions): Promise<ZooKeeperService> {
  const server = await startRealServer(asUsersRunIt(isBrief));
  const ensemble = isBrief ? undefined : await startEnsemble(3, asUsersRunIt(isBrief));
  const members = ensemble === undefined ? [] : await leaderLast(ensemble);
  return {
    connectString: server.connectString,
    version: /version: ([\d.]+)/i.exec(await server.command('srvr'))?.[1] ?? 'unknown',
    addresses: {
      ...(await placesOf(server.port, links)),
      ...(ensemble !== undefined && { ensemble: members.map(({ connectString }) => connectString) }),
    },
    traffic: async (place: Place) => sum(await Promise.all((place === 'ensemble' ? members : [server]).map(count))),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([server.stop(), ensemble?.stop()]);
    },
  };
}

/** All peers open their first sessions with the followers. */
async function leaderLast(ensemble: Ensemble): Promise<readonly ZooKeeperServer[]> {
  const leader = await ensemble.leader();
  return [...ensemble.servers.filter((server) => server !== leader), leader];
}

/** The few requests that ask for the count are included. */
async function count(server: ZooKeeperServer): Promise<Traffic> {
  const answer = await server.command('mntr');
  return {
    requests: mntrFigure(answer, 'zk_packets_received'),
    bytes: mntrFigure(answer, 'zk_bytes_received_count'),
  };
}
