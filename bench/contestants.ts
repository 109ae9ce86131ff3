import { missingEtcd } from '../lab/programs/etcd-server.ts';
import { missingRedis } from '../lab/programs/redis-server.ts';
import { Curator } from './peers/curator.ts';
import { Etcd3Peer } from './peers/etcd3.ts';
import { Ours } from './peers/ours.ts';
import type { Peer } from './peers/peer.ts';
import { Raw } from './peers/raw.ts';
import { RedlockPeer } from './peers/redlock.ts';
import { titles, type PeerName } from './results.ts';
import { startEtcdServers } from './services/etcd.ts';
import { startRedisServers } from './services/redis.ts';
import type { Service, ServiceOptions } from './services/service.ts';
import type { ZooKeeperService } from './services/zookeeper.ts';

export interface Contestant {
  readonly name: PeerName;
  readonly peer: Peer;
  readonly service: Service;
}

export interface Contestants extends AsyncDisposable {
  readonly all: readonly Contestant[];
  /** The missing part, by the title of the peer that is left out because of it. */
  readonly skipped: Readonly<Record<string, string>>;
}

/** Starts the servers of the other systems if they are installed. `isBrief` leaves these systems out. */
export async function startContestants(zooKeeper: ZooKeeperService, options: ServiceOptions): Promise<Contestants> {
  const skipped: Record<string, string> = {};
  const { addresses } = zooKeeper;
  const all: Contestant[] = [
    { name: 'ours', peer: new Ours(addresses), service: zooKeeper },
    { name: 'raw', peer: new Raw(addresses), service: zooKeeper },
  ];
  const own: Service[] = [];
  const join = async (name: PeerName, missing: string | undefined, start: () => Promise<[Peer, Service]>) => {
    if (missing !== undefined) {
      skipped[titles[name]] = missing;
      return;
    }
    const [peer, service] = await start();
    if (service !== zooKeeper) own.push(service);
    all.push({ name, peer, service });
  };
  await join('curator', await Curator.missing(), async () => [await Curator.start(addresses), zooKeeper]);
  if (!options.isBrief) {
    for (const fsync of ['always', 'everysec'] as const) {
      await join(`redlock ${fsync}`, missingRedis(), async () => {
        const service = await startRedisServers(fsync, options);
        return [new RedlockPeer(service.addresses), service];
      });
    }
    await join('etcd3', missingEtcd(), async () => {
      const service = await startEtcdServers(options);
      return [new Etcd3Peer(service.addresses), service];
    });
  }
  return {
    all,
    skipped,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(all.map(({ peer }) => peer.close()));
      await Promise.all(own.map((service) => service[Symbol.asyncDispose]()));
    },
  };
}
