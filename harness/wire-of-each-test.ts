import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { testPath } from '../../support/test-path.ts';
import { startProxy, type Frame, type ZkProxy } from '../../support/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../support/zookeeper-server.ts';

/** A lock whose client is connected through a proxy, so that its requests can be counted and disturbed. */
export interface WireOfTest {
  readonly proxy: ZkProxy;
  readonly client: LockClient;
  readonly mutex: InterProcessMutex;
  /** What was sent about the lock so far; nothing of it is under way any more. */
  requests(): Promise<Frame['op'][]>;
}

/** Each test of the suite finds a fresh lock, client and proxy in the object that this returns. */
export function wireOfEachTest(name: string): WireOfTest {
  let server: ZooKeeperServer;
  const wire = {
    async requests() {
      // One connection answers in order.
      await new InterProcessMutex(wire.client, testPath('fence')).participants();
      return wire.proxy.frames.filter(({ from, path }) => from === 'client' && path?.startsWith(wire.mutex.path)).map(({ op }) => op);
    },
  } as { -readonly [Key in keyof WireOfTest]: WireOfTest[Key] };

  before(async () => {
    server = await startServer();
  });
  beforeEach(async () => {
    wire.proxy = await startProxy(server.port);
    wire.client = await LockClient.connect(wire.proxy.connectString);
    wire.mutex = new InterProcessMutex(wire.client, testPath(name));
  });
  afterEach(async () => {
    await wire.client.close();
    await wire.proxy.close();
  });
  after(() => server.stop());

  return wire;
}
