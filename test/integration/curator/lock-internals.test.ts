import { expect } from 'chai';
import { InterProcessMutex, LockClient, retryNTimes, ZooKeeperError } from '../../../src/index.ts';
import { stranger, type Stranger } from '../../support/stranger.ts';
import { testPath } from '../../support/test-path.ts';
import { rejection, until } from '../../support/until.ts';
import { startProxy, type ZkProxy } from '../../support/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../support/zookeeper-server.ts';
import { answered, sent } from './support/faults.ts';

const noNode = -101;
const systemError = -1;

describe('TestLockInternals', () => {
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let outside: Stranger;
  let client: LockClient;

  before(async () => {
    server = await startServer();
    outside = await stranger(server.connectString);
  });

  beforeEach(async () => {
    proxy = await startProxy(server.port);
    client = await LockClient.connect(proxy.connectString, { sessionTimeoutMs: 10_000, retryPolicy: retryNTimes(0, 0) });
  });

  afterEach(async () => {
    await client.close({ timeoutMs: 500 });
    await proxy.close();
  });

  after(async () => {
    await outside[Symbol.asyncDispose]();
    await server.stop();
  });

  const emptyLock = async (name: string): Promise<string> => {
    const path = testPath(name);
    await outside.create(path.slice(0, path.lastIndexOf('/')));
    await outside.create(path);
    return path;
  };

  for (const [what, error, code] of [
    ['NoNode', noNode, 'NO_NODE'],
    ['a system error', systemError, 'SYSTEM_ERROR'],
  ] as const) {
    it(`testNodeDeletedCleanlyWithFaults: a list that fails with ${what} is the error of the acquire, and no znode is left`, async () => {
      const path = await emptyLock('faults');
      proxy.on((frame) => (answered('getChildren2')(frame) && frame.path === path ? { replaceError: error } : undefined));
      const failed = await rejection(new InterProcessMutex(client, path).acquire({ timeoutMs: 5_000 }));
      expect(failed.code).to.equal('ERR_LOCK_REQUEST_FAILED');
      expect(failed.cause).to.be.instanceOf(ZooKeeperError).with.property('code', code);
      expect(proxy.frames.filter(sent('create2')).length).to.be.greaterThan(0);
      await until('no znode is left', async () => (await outside.children(path)).length === 0, 3_000);
    });
  }

  it('testAttemptLockFailedException: the error of the list is the error of the acquire, also when nobody answers the clean-up', async () => {
    const path = await emptyLock('failed-exception');
    proxy.on((frame) => {
      if (!answered('getChildren2')(frame) || frame.path !== path) return undefined;
      void proxy.refuse();
      proxy.on((later) => (later.from === 'client' ? 'cut' : undefined));
      return { replaceError: noNode };
    });
    const failed = await rejection(new InterProcessMutex(client, path).acquire({ timeoutMs: 5_000 }));
    expect(failed.code).to.equal('ERR_LOCK_REQUEST_FAILED');
    expect(failed.cause).to.be.instanceOf(ZooKeeperError).with.property('code', 'NO_NODE');
  });
});
