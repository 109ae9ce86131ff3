import { setTimeout as delay } from 'node:timers/promises';
import type { Roles } from '../test/ensemble/support/trio.ts';
import type { ZooKeeperServer } from '../test/support/zookeeper-server.ts';
import { closeSession } from './close-session.ts';
import type { ClientProcess } from './client-process.ts';
import type { Fault, FaultKind, World } from './world.ts';

/** Long enough that half of them outlive a session. */
function lasting({ random, sessionTimeoutMs }: World): number {
  return random.between(0.1, 2) * sessionTimeoutMs;
}

function one({ clients, random }: World): ClientProcess {
  const [first, ...others] = clients;
  if (first === undefined) throw new Error('a run without clients');
  return random.pick([first, ...others]);
}

function onLinks(world: World, begin: (link: ClientProcess['links'][number]) => void): Fault {
  const client = one(world);
  return {
    target: client.name,
    clients: [client.name],
    begin: () => client.links.forEach(begin),
    heal: () => client.links.forEach((link) => (link.mode = { at: 'open' })),
  };
}

/**
 * One client can reach one follower only, and that one dies, or is cut off from the leader: what it has answered until then the leader never
 * hears of. It is what a deadline that counts from the last answer does not survive.
 */
function strand(world: World, { followers }: Roles, lose: (follower: ZooKeeperServer) => Promise<() => Promise<unknown>>): Fault {
  const { trio, clients, random, sessionTimeoutMs } = world;
  const client = one(world);
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
      await delay(sessionTimeoutMs / 2); // it has found the one that is left
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

export const clientFaults: Readonly<Record<string, FaultKind>> = {
  'strand-and-kill': (world, roles) =>
    strand(world, roles, async (follower) => {
      await follower.kill();
      return () => follower.start();
    }),
  'strand-and-cut-off': (world, roles) =>
    strand(world, roles, async (follower) => {
      const cut = await world.trio.cutFollowerOff(roles, follower);
      return () => cut.heal();
    }),
  'cut-link': (world) => ({ ...onLinks(world, (link) => link.cut()), lastsMs: 0 }),
  'slow-link': (world) => {
    const delayMs = world.random.between(20, 400);
    return onLinks(world, (link) => (link.mode = { at: 'slow', delayMs }));
  },
  'silent-link': (world) => onLinks(world, (link) => (link.mode = { at: 'silent' })),
  'kill-client': (world) => {
    const client = one(world);
    return { target: client.name, clients: [client.name], begin: () => client.kill(), heal: () => client.restart() };
  },
  'stop-client': (world) => {
    const client = one(world);
    return { target: client.name, clients: [client.name], isStopped: true, begin: () => client.stop(), heal: () => client.resume() };
  },
  'stall-client': (world) => {
    const client = one(world);
    const ms = lasting(world);
    return { target: client.name, clients: [client.name], isStopped: true, lastsMs: 0, begin: () => client.stall(ms), heal: () => undefined };
  },
  'delete-znode': async ({ stranger, paths, random, clients }) => {
    const places = await Promise.all(paths.map(async (path) => (await stranger.children(path)).map((name) => `${path}/${name}`)));
    const [first, ...others] = places.flat();
    if (first === undefined) return undefined;
    const znode = random.pick([first, ...others]);
    return {
      target: znode,
      clients: clients.map(({ name }) => name),
      lastsMs: 0,
      begin: () => stranger.remove(znode).catch(() => undefined), // gone by itself meanwhile
      heal: () => undefined,
    };
  },
  'close-session': async (world) => {
    const client = one(world);
    const identity = await client.identity();
    return (
      identity && {
        target: `${client.name} 0x${identity.id}`,
        clients: [client.name],
        lastsMs: 0,
        begin: () => closeSession(world.trio.connectString, identity, world.sessionTimeoutMs),
        heal: () => undefined,
      }
    );
  },
};
