import { LockClient, retryForever } from '../../src/index.ts';
import { connectObserver, type Observer } from '../../harness/observer.ts';
import { startServer, type ZooKeeperServer } from '../../harness/zookeeper-server.ts';

/** Of the client that the faults happen to. */
export const sessionTimeoutMs = 2_000;
export const tickTimeMs = 100;

/** What all cases share: the server, and its other clients besides the client under test. */
export interface Fixture extends AsyncDisposable {
  readonly server: ZooKeeperServer;
  readonly observer: Observer;
  /** Holds, waits and takes over, on a good connection. */
  readonly bystander: LockClient;
  /** Comes afterwards, and must get the lock. */
  readonly fresh: LockClient;
}

export async function openFixture(): Promise<Fixture> {
  // Nobody pulls the plug here: thousands of cases need not wait for the disk.
  const server = await startServer({ tickTimeMs, javaOptions: ['-Dzookeeper.forceSync=no'] });
  const [observer, bystander, fresh] = await Promise.all([
    connectObserver(server.connectString),
    LockClient.connect(server.connectString, { sessionTimeoutMs: 20_000, retryPolicy: retryForever(20) }),
    LockClient.connect(server.connectString, { sessionTimeoutMs: 20_000 }),
  ]);
  return {
    server,
    observer,
    bystander,
    fresh,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([bystander.close(), fresh.close(), observer[Symbol.asyncDispose]()]);
      await server.stop();
    },
  };
}
