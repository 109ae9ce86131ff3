import { Redis } from 'ioredis';
import { startRedis, type AppendFsync } from '../../lab/programs/redis-server.ts';
import type { Place } from '../places.ts';
import { infoFigure } from './figures.ts';
import { address, placesOf, sum, type Service, type ServiceOptions, type Traffic } from './service.ts';

/** One Redis, and three that do not know of each other, as the Redlock algorithm wants them. */
export async function startRedisServers(appendFsync: AppendFsync, { links }: ServiceOptions): Promise<Service> {
  const servers = await Promise.all(Array.from({ length: 4 }, () => startRedis(appendFsync)));
  const [single = 0, ...three] = servers.map(({ port }) => port);
  const clients = new Map([single, ...three].map((port) => [port, new Redis(port, '127.0.0.1')]));
  return {
    addresses: { ...(await placesOf(single, links)), ensemble: three.map(address) },
    traffic: async (place: Place) =>
      sum(await Promise.all((place === 'ensemble' ? three : [single]).map((port) => count(clients.get(port))))),
    [Symbol.asyncDispose]: async () => {
      for (const client of clients.values()) client.disconnect();
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    },
  };
}

/** The commands that the scripts run on the server are included. */
async function count(client: Redis | undefined): Promise<Traffic> {
  const answer = (await client?.info('stats')) ?? '';
  return {
    requests: infoFigure(answer, 'total_commands_processed'),
    bytes: infoFigure(answer, 'total_net_input_bytes'),
  };
}
