import { LockClient, type ConnectionState, type LockClientOptions } from '../src/index.ts';

/** Connects to the first server that answers, in the given order. A client normally shuffles its servers. */
export function connectInOrder(
  servers: readonly { readonly connectString: string }[],
  options: LockClientOptions,
): Promise<LockClient> {
  const { random } = Math;
  Math.random = () => 0;
  try {
    return LockClient.connect(servers.map((server) => server.connectString).join(','), options);
  } finally {
    Math.random = random;
  }
}

export function nextState(client: LockClient): Promise<ConnectionState> {
  return new Promise((resolve) => client.once('state', resolve));
}
