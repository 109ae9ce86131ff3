import { LockClient, retryForever } from '../../src/index.ts';
import { stranger, type Stranger } from '../support/stranger.ts';
import { startServer, type ZooKeeperServer } from '../support/zookeeper-server.ts';

/** Of the client that the faults happen to. */
export const sessionTimeoutMs = 2_000;
export const tickTimeMs = 100;

/** What all cases share: the server, and who is on it besides the client under test. */
export interface Theatre extends AsyncDisposable {
  readonly server: ZooKeeperServer;
  readonly outside: Stranger;
  /** Holds, waits and takes over, on a good connection. */
  readonly bystander: LockClient;
  /** Comes afterwards, and must get the lock. */
  readonly fresh: LockClient;
}

export async function openTheatre(): Promise<Theatre> {
  // Nobody pulls the plug here: thousands of cases need not wait for the disk.
  const server = await startServer({ tickTimeMs, javaOptions: ['-Dzookeeper.forceSync=no'] });
  const [outside, bystander, fresh] = await Promise.all([
    stranger(server.connectString),
    LockClient.connect(server.connectString, { sessionTimeoutMs: 20_000, retryPolicy: retryForever(20) }),
    LockClient.connect(server.connectString, { sessionTimeoutMs: 20_000 }),
  ]);
  return {
    server,
    outside,
    bystander,
    fresh,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([bystander.close(), fresh.close(), outside[Symbol.asyncDispose]()]);
      await server.stop();
    },
  };
}
