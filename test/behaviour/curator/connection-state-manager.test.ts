import { expect } from 'chai';
import { InterProcessMutex, LockClient, type ConnectionState } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { connectObserver } from '../../../lab/wire/observer.ts';
import { testPath } from '../../../lab/test-path.ts';
import { startProxy } from '../../../lab/proxy/zk-proxy.ts';
import { reached } from '../../../lab/reached.ts';

const sessionTimeoutMs = 2_500;

describe('TestConnectionStateManager', () => {
  const lab = labOfEachTest('states', { server: 'own', client: 'none' });

  it('testConnectionStateRecoversFromUnexpectedExpiredConnection: LOST, then RECONNECTED', async () => {
    await using outside = await connectObserver(lab.server.connectString);
    await using proxy = await startProxy(lab.server.port);
    await using mine = await LockClient.connect(proxy.connectString, { sessionTimeoutMs: 10_000 });
    const states: ConnectionState[] = [mine.state];
    mine.on('state', (state) => void states.push(state));
    const [suspended, again] = [reached(mine, 'suspended'), reached(mine, 'reconnected')];
    // The client must not reconnect before its session has ended.
    await proxy.refuse();
    proxy.cut();
    await suspended;
    await outside.endSession(mine);
    await proxy.accept();
    await again;
    expect(states).to.deep.equal(['connected', 'suspended', 'lost', 'reconnected']);
    await new InterProcessMutex(mine, testPath('recovered')).withLock((hold) => expect(hold.isValid).to.equal(true));
  });

  it('testSessionConnectionStateErrorPolicyWithExpirationPercent30: LOST at 90 percent', async () => {
    const provenAt = lab.now();
    const client = await LockClient.connect(lab.server.connectString, { sessionTimeoutMs });
    try {
      const hold = await new InterProcessMutex(client, testPath('percent')).acquire();
      const states: ConnectionState[] = [];
      client.on('state', (state) => void states.push(state));
      const lost = reached(client, 'lost');
      await lab.server.kill();
      await lost;
      expect(states).to.deep.equal(['suspended', 'lost']);
      expect(hold.signal.aborted).to.equal(true);
      expect(lab.now() - provenAt).to.be.closeTo(0.9 * sessionTimeoutMs, 10);
    } finally {
      await client.close({ timeoutMs: 0 });
    }
  });
});
