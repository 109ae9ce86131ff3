import { expect } from 'chai';
import { InterProcessMutex, LockClient, type ConnectionState } from '../../../src/index.ts';
import { stranger } from '../../support/stranger.ts';
import { testPath } from '../../support/test-path.ts';
import { startProxy } from '../../support/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../support/zookeeper-server.ts';
import { reached } from './support/states.ts';

const sessionTimeoutMs = 2_500;

describe('TestConnectionStateManager', () => {
  let server: ZooKeeperServer;

  before(async () => {
    server = await startServer();
  });

  after(() => server.stop());

  it('testConnectionStateRecoversFromUnexpectedExpiredConnection: CONNECTED, SUSPENDED, LOST, RECONNECTED, and it works again', async () => {
    await using outside = await stranger(server.connectString);
    await using proxy = await startProxy(server.port);
    await using mine = await LockClient.connect(proxy.connectString, { sessionTimeoutMs: 10_000 });
    const states: ConnectionState[] = [mine.state];
    mine.on('state', (state) => void states.push(state));
    const [suspended, again] = [reached(mine, 'suspended'), reached(mine, 'reconnected')];
    // It must not come back before its session has ended.
    await proxy.refuse();
    proxy.cut();
    await suspended;
    await outside.endSession(mine);
    await proxy.accept();
    await again;
    expect(states).to.deep.equal(['connected', 'suspended', 'lost', 'reconnected']);
    await new InterProcessMutex(mine, testPath('recovered')).withLock((hold) => expect(hold.isValid).to.equal(true));
  });

  it('testSessionConnectionStateErrorPolicyWithExpirationPercent30: LOST comes by itself at 90 percent of the timeout, when no server can tell', async () => {
    const client = await LockClient.connect(server.connectString, { sessionTimeoutMs });
    try {
      const hold = await new InterProcessMutex(client, testPath('percent')).acquire();
      const states: ConnectionState[] = [];
      client.on('state', (state) => void states.push(state));
      const { deadline } = client.session;
      const lost = reached(client, 'lost');
      await server.kill();
      const newestAnswerBy = performance.now();
      await lost;
      const lostAt = performance.now();
      expect(states).to.deep.equal(['suspended', 'lost']);
      expect(hold.signal.aborted).to.equal(true);
      expect(lostAt).to.be.at.least(deadline);
      expect(lostAt).to.be.lessThan(newestAnswerBy + sessionTimeoutMs);
    } finally {
      await client.close({ timeoutMs: 0 });
    }
  });
});
