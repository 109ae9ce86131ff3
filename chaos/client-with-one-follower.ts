import { setTimeout as delay } from 'node:timers/promises';
import type { Roles } from '../lab/servers/trio.ts';
import type { ZooKeeperServer } from '../lab/servers/zookeeper-server.ts';
import { oneOfOurs } from './client-faults.ts';
import type { Fault, FaultKind, World } from './world.ts';

/**
 * A client can reach only one follower, and this follower dies or is cut off from the leader. The leader never learns
 * of the answers that the follower gave last. A deadline that counts from the last answer is too late then. Peers have
 * no deadline.
 */
function withOneFollower(
  world: World,
  [, ...followers]: Roles,
  lose: (follower: ZooKeeperServer) => Promise<() => Promise<unknown>>,
): Fault {
  const { trio, clients, random, sessionTimeoutMs } = world;
  const client = oneOfOurs(world);
  const follower = random.pick(followers);
  const others = client.links.filter((_, index) => trio.servers[index] !== follower);
  let heal = (): Promise<unknown> => Promise.resolve();
  return {
    target: `${client.name} on ${follower.connectString}`,
    clients: clients.map(({ name }) => name),
    lastsMs: 1.5 * sessionTimeoutMs,
    begin: async () => {
      for (const link of others) {
        link.mode = { at: 'silent' };
        link.cut();
      }
      await delay(sessionTimeoutMs / 2); // meanwhile the client connects to the server that is left
      client.order({ is: 'keep', ms: 3 * sessionTimeoutMs });
      await delay(random.between(500, 1_500));
      heal = await lose(follower);
    },
    heal: async () => {
      for (const link of others) link.mode = { at: 'open' };
      await heal();
      await trio.whole();
    },
  };
}

export const clientWithOneFollower: Readonly<Record<string, FaultKind>> = {
  'one-follower-killed': (world, roles) =>
    withOneFollower(world, roles, async (follower) => {
      await follower.kill();
      return () => follower.start();
    }),
  'one-follower-cut-off': (world, roles) =>
    withOneFollower(world, roles, async (follower) => {
      const cut = await world.trio.cutFollowerOff(roles, follower);
      return () => cut.heal();
    }),
};
