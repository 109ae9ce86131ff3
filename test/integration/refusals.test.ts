import { expect } from 'chai';
import { InterProcessMutex, LockClient, retryNTimes, type AclEntry } from '../../src/index.ts';
import { stranger, type Stranger } from '../support/stranger.ts';
import { testPath } from '../support/test-path.ts';
import { rejection } from '../support/until.ts';
import { startProxy, type ZkProxy } from '../support/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../support/zookeeper-server.ts';
import { anyone, permission } from './accounts/support/account.ts';

describe('a refusal', () => {
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let outside: Stranger;
  let client: LockClient | undefined;

  before(async () => {
    server = await startServer();
    outside = await stranger(server.connectString);
  });

  beforeEach(async () => {
    proxy = await startProxy(server.port);
  });

  afterEach(async () => {
    await client?.close({ timeoutMs: 500 });
    client = undefined;
    await proxy.close();
  });

  after(async () => {
    await outside[Symbol.asyncDispose]();
    await server.stop();
  });

  const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));

  it('of a znode whose parent is reaped again and again ends the acquire when the retry policy gives up', async () => {
    client = await LockClient.connect(proxy.connectString, { retryPolicy: retryNTimes(2, 1) });
    proxy.on((frame) => (frame.from === 'server' && frame.op === 'create2' ? { replaceError: -101 } : undefined));
    const error = await rejection(new InterProcessMutex(client, testPath('reaped')).acquire());
    expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
    expect(error.cause).to.have.property('code', 'NO_NODE');
    // Without its parents, with them, and twice again.
    expect(proxy.frames.filter((frame) => frame.from === 'client' && frame.op === 'create2')).to.have.length(4);
  });

  it('of a container, by a server of an ensemble whose others know them, is the last: persistent parents follow', async () => {
    client = await LockClient.connect(proxy.connectString);
    const acquire = async (path: string): Promise<void> => {
      await (await new InterProcessMutex(client as LockClient, path).acquire()).release();
    };
    await acquire(testPath('known'));
    const know = proxy.on((frame) => (frame.from === 'server' && frame.op === 'createContainer' ? { replaceError: -6 } : undefined));
    await acquire(testPath('refused'));
    know();
    proxy.clear();
    const path = testPath('persistent');
    await acquire(path);
    const created = proxy.frames.filter(({ from, op }) => from === 'client' && op.startsWith('create') && op !== 'create2');
    expect(created.map(({ op, path: of }) => [op, of])).to.deep.equal([
      ['create', parentOf(path)],
      ['create', path],
    ]);
  });

  it('to say what the ACL of a parent is ends the acquire with what the provider has thrown, and nothing is created', async () => {
    const failure = new Error('no rights for a parent');
    const path = testPath('parent-acl');
    const acl = (of: string): AclEntry[] => {
      if (of === parentOf(path)) throw failure;
      return [anyone(permission.all)];
    };
    client = await LockClient.connect(proxy.connectString, { acl });
    const mutex = new InterProcessMutex(client, path);
    expect(await rejection(mutex.acquire())).to.equal(failure);
    // The first container of a client goes alone; all others are asked for together.
    await (await new InterProcessMutex(client, testPath('first')).acquire()).release();
    expect(await rejection(mutex.acquire())).to.equal(failure);
    // Nobody waits for ever behind the one who was to create the parents.
    expect(await rejection(mutex.acquire())).to.equal(failure);
    expect(await outside.exists(parentOf(path))).to.equal(false);
  });

  it('to show a znode in the queue is an error of participants()', async () => {
    const path = testPath('unreadable');
    await outside.create(parentOf(path));
    await outside.create(path);
    client = await LockClient.connect(proxy.connectString, { acl: [anyone(permission.write)] });
    const mutex = new InterProcessMutex(client, path);
    const hold = await mutex.acquire();
    const error = await rejection(mutex.participants());
    expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
    expect(error.message).to.contain(`The participants of ${path} cannot be read`);
    expect(error.cause).to.have.property('code', 'NO_AUTH');
    await hold.release();
  });
});
