import { endSession } from '../lab/wire/end-session.ts';
import type { ClientProcess } from './client-process.ts';
import type { Fault, FaultKind, World } from './world.ts';

/** Long enough that half of these faults last longer than a session. */
function lasting({ random, sessionTimeoutMs }: World): number {
  return random.between(0.1, 2) * sessionTimeoutMs;
}

/**
 * The znodes of a killed client stay until the leader ends its session: 4 s after its last message, plus up to one tick
 * of 2 s because sessions end at ticks, plus half a tick because a follower reports its clients that late. The check
 * `progress` allows 6 s after the fault.
 */
function longEnoughForItsSession({ random, sessionTimeoutMs }: World): number {
  return random.between(0.6, 2) * sessionTimeoutMs;
}

function one({ clients, random }: World): ClientProcess {
  return picked(clients, random);
}

/** For faults that a peer does not support, or that do not concern it. */
export function oneOfOurs({ clients, random }: World): ClientProcess {
  return picked(
    clients.filter(({ isPeer }) => !isPeer),
    random,
  );
}

function picked([first, ...others]: readonly ClientProcess[], random: World['random']): ClientProcess {
  if (first === undefined) throw new Error('The run has no clients');
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

export const clientFaults: Readonly<Record<string, FaultKind>> = {
  'cut-link': (world) => ({ ...onLinks(world, (link) => link.cut()), lastsMs: 0 }),
  'slow-link': (world) => {
    const delayMs = world.random.between(20, 400);
    return onLinks(world, (link) => (link.mode = { at: 'slow', delayMs }));
  },
  'silent-link': (world) => onLinks(world, (link) => (link.mode = { at: 'silent' })),
  'kill-client': (world) => {
    const client = one(world);
    return {
      target: client.name,
      clients: [client.name],
      lastsMs: longEnoughForItsSession(world),
      begin: () => client.kill(),
      heal: () => client.restart(),
    };
  },
  'stop-client': (world) => {
    const client = one(world);
    return {
      target: client.name,
      clients: [client.name],
      isStopped: true,
      begin: () => client.stop(),
      heal: () => client.resume(),
    };
  },
  'stall-client': (world) => {
    const client = oneOfOurs(world);
    const ms = lasting(world);
    return {
      target: client.name,
      clients: [client.name],
      isStopped: true,
      lastsMs: 0,
      begin: () => client.stall(ms),
      heal: () => undefined,
    };
  },
  'delete-znode': async ({ observer, folders, random, clients }) => {
    const places = await Promise.all(
      folders.map(async (folder) => (await observer.children(folder)).map((name) => `${folder}/${name}`)),
    );
    const [first, ...others] = places.flat();
    if (first === undefined) return undefined;
    const znode = random.pick([first, ...others]);
    return {
      target: znode,
      clients: clients.map(({ name }) => name),
      lastsMs: 0,
      begin: () => observer.remove(znode).catch(() => undefined), // the client has deleted it meanwhile
      heal: () => undefined,
    };
  },
  'close-session': async (world) => {
    const client = oneOfOurs(world);
    const identity = await client.identity();
    return (
      identity && {
        target: `${client.name} 0x${identity.id}`,
        clients: [client.name],
        lastsMs: 0,
        begin: () =>
          endSession(world.trio.connectString, {
            sessionId: BigInt(`0x${identity.id}`),
            password: Buffer.from(identity.password, 'hex'),
          }).catch(() => undefined), // other faults may have left no server that answers
        heal: () => undefined,
      }
    );
  },
};
