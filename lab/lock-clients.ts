import { LockClient, type ConnectionState, type LockClientOptions } from '../src/index.ts';
import { systemSurroundings } from '../src/client/surroundings.ts';
import { systemChance } from '../src/support/chance.ts';

const mostTries = 20;

/** Connects to the first server that answers, in the given order. A client normally shuffles its servers. */
export function connectInOrder(
  servers: readonly { readonly connectString: string }[],
  options: LockClientOptions,
): Promise<LockClient> {
  let isShuffling = true;
  const random = (): number => (isShuffling ? 0 : systemChance.random());
  const hosts = servers.map((server) => server.connectString).join(',');
  const connecting = LockClient.connectIn(
    { ...systemSurroundings, chance: { ...systemChance, random } },
    hosts,
    options,
  );
  isShuffling = false;
  return connecting;
}

/**
 * As `connectInOrder`, but tries again until the first server is the one that answered. A first attempt may last only a
 * part of a second: a busy machine, or the disk under a new session, may need longer.
 */
export async function connectToFirst(
  servers: readonly { readonly connectString: string }[],
  options: LockClientOptions,
): Promise<LockClient> {
  for (let tries = 1; ; tries += 1) {
    const client = await connectInOrder(servers, options);
    const { server } = client.session.connection;
    if (server === servers[0]?.connectString) return client;
    await client.close();
    if (tries === mostTries)
      throw new Error(`The first server did not answer in time ${tries} times, but ${server} did`);
  }
}

export function nextState(client: LockClient): Promise<ConnectionState> {
  return new Promise((resolve) => client.once('state', resolve));
}
