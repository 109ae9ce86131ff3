import { expect } from 'chai';
import { InterProcessMutex, LockClient, LockLostError } from '../../src/index.ts';
import { stranger, type Stranger } from '../support/stranger.ts';
import { testPath } from '../support/test-path.ts';
import { aborted, until } from '../support/until.ts';
import { startProxy, type ZkProxy } from '../support/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../support/zookeeper-server.ts';

describe('a holder whose hold is lost', () => {
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let outside: Stranger;

  before(async () => {
    server = await startServer();
    outside = await stranger(server.connectString);
  });

  beforeEach(async () => {
    proxy = await startProxy(server.port);
  });

  afterEach(() => proxy.close());

  after(async () => {
    await outside[Symbol.asyncDispose]();
    await server.stop();
  });

  it('by the deletion of its znode is told within one event, and not by the next heartbeat', async () => {
    const client = await LockClient.connect(proxy.connectString, { sessionTimeoutMs: 60_000 });
    const hold = await new InterProcessMutex(client, testPath('told')).acquire();
    await proxy.seen(({ from, op }) => from === 'server' && op === 'getData');
    const told = aborted(hold.signal);
    proxy.clear();
    await outside.remove(hold.path);
    expect(await told).to.be.instanceOf(LockLostError).and.to.have.property('reason', 'node-deleted');
    expect(proxy.frames.map(({ op }) => op)).to.deep.equal(['watch']);
    await client.close();
  });

  it('by the deletion of its znode is told by the next heartbeat where the event does not come', async () => {
    const client = await LockClient.connect(proxy.connectString, { sessionTimeoutMs: 2_000 });
    const hold = await new InterProcessMutex(client, testPath('heartbeat')).acquire();
    await proxy.seen(({ from, op }) => from === 'server' && op === 'getData');
    const told = aborted(hold.signal);
    proxy.on(({ op }) => (op === 'watch' ? 'drop' : undefined));
    await outside.remove(hold.path);
    expect(await told).to.have.property('reason', 'node-deleted');
    expect(client.state).to.equal('connected');
    await client.close();
  });

  it('may hear of that late, which is logged, when the server refuses to watch its znode', async () => {
    const warnings: string[] = [];
    const client = await LockClient.connect(proxy.connectString, { logger: { warn: (message) => void warnings.push(message) } });
    proxy.on(({ from, op }) => (from === 'server' && op === 'getData' ? { replaceError: -127 } : undefined));
    const hold = await new InterProcessMutex(client, testPath('unwatched')).acquire();
    await until('it is logged', () => warnings.length > 0);
    expect(warnings).to.deep.equal([`${hold.path} cannot be watched`]);
    expect(await hold.release()).to.equal('released');
    await client.close();
  });

  it('by silence, and that lets go in the very moment it is told, has its session closed on the server', async () => {
    const client = await LockClient.connect(proxy.connectString, { sessionTimeoutMs: 1_000 });
    const hold = await new InterProcessMutex(client, testPath('lets-go')).acquire();
    const { signal } = hold;
    signal.addEventListener('abort', () => void hold.release());
    const hear = proxy.on(({ from }) => (from === 'server' ? 'drop' : undefined));
    expect(await aborted(signal)).to.have.property('reason', 'session-deadline');
    hear();
    await proxy.seen(({ from, op }) => from === 'client' && op === 'closeSession');
    await client.close();
  });
});
