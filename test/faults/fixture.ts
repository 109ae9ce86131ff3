import { LockClient, retryForever } from '../../src/index.ts';
import { connectObserver, type Observer } from '../../lab/wire/observer.ts';
import { RunningTime } from '../../lab/running-time.ts';
import { startServer, type ZooKeeperServer } from '../../lab/servers/zookeeper-server.ts';

/** The session timeout of the client under test. */
export const sessionTimeoutMs = 2_000;
export const tickTimeMs = 100;

/** The server that all cases share, and its other clients besides the client under test. */
export interface Fixture extends AsyncDisposable {
  readonly server: ZooKeeperServer;
  readonly observer: Observer;
  /** Stands still while a busy machine holds this process or the server up. */
  readonly running: RunningTime;
  /** A client that holds, waits and takes over, on a good connection. */
  readonly bystander: LockClient;
  /** More clients that wait, on good connections. */
  readonly neighbours: readonly LockClient[];
  /** A client that comes after the case and must get the lock. */
  readonly fresh: LockClient;
}

export async function openFixture(): Promise<Fixture> {
  // No test cuts the power, so thousands of cases need not wait for the disk.
  const server = await startServer({ tickTimeMs, javaOptions: ['-Dzookeeper.forceSync=no'] });
  const waiting = { sessionTimeoutMs: 20_000, retryPolicy: retryForever(20) };
  const [observer, fresh, bystander, ...neighbours] = await Promise.all([
    connectObserver(server.connectString),
    LockClient.connect(server.connectString, { sessionTimeoutMs: 20_000 }),
    LockClient.connect(server.connectString, waiting),
    LockClient.connect(server.connectString, waiting),
    LockClient.connect(server.connectString, waiting),
  ]);
  const running = new RunningTime(() => observer.exists('/'));
  return {
    server,
    observer,
    running,
    bystander,
    neighbours,
    fresh,
    [Symbol.asyncDispose]: async () => {
      running[Symbol.dispose]();
      const clients = [bystander, fresh, ...neighbours];
      await Promise.all([...clients.map((client) => client.close()), observer[Symbol.asyncDispose]()]);
      await server.stop();
    },
  };
}
