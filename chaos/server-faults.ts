import type { Cut } from '../lab/proxy/firewall.ts';
import type { ZooKeeperServer } from '../lab/servers/zookeeper-server.ts';
import type { Fault, FaultKind, World } from './world.ts';

const allClients = ({ clients }: World): string[] => clients.map(({ name }) => name);

function killed(world: World, server: ZooKeeperServer): Fault {
  return {
    target: server.connectString,
    clients: allClients(world),
    begin: () => server.kill(),
    heal: () => server.start().then(() => world.trio.whole()),
  };
}

function stopped(world: World, server: ZooKeeperServer): Fault {
  return {
    target: server.connectString,
    clients: allClients(world),
    begin: () => server.pause(),
    heal: () => {
      server.resume();
      return world.trio.whole();
    },
  };
}

function cutOff(world: World, server: ZooKeeperServer, make: () => Promise<Cut>): Fault {
  let cut: Cut | undefined;
  return {
    target: server.connectString,
    clients: allClients(world),
    begin: async () => {
      cut = await make();
    },
    heal: async () => {
      await cut?.heal();
      await world.trio.whole();
    },
  };
}

export const serverFaults: Readonly<Record<string, FaultKind>> = {
  'kill-leader': (world, [leader]) => killed(world, leader),
  'kill-follower': (world, [, ...followers]) => killed(world, world.random.pick(followers)),
  'stop-leader': (world, [leader]) => stopped(world, leader),
  'stop-follower': (world, [, ...followers]) => stopped(world, world.random.pick(followers)),
  'cut-follower-off': (world, roles) => {
    const [, ...followers] = roles;
    const follower = world.random.pick(followers);
    return cutOff(world, follower, () => world.trio.cutFollowerOff(roles, follower));
  },
  'cut-leader-off': (world, roles) => cutOff(world, roles[0], () => world.trio.cutLeaderOff(roles)),
  'rolling-restart': (world, [leader, ...followers]) => ({
    target: 'all servers',
    clients: allClients(world),
    lastsMs: 0,
    begin: async () => {
      for (const server of [...followers, leader]) await world.trio.restart(server);
    },
    heal: () => world.trio.whole(),
  }),
};
