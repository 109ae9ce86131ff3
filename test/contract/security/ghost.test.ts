import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { digest } from '../../../lab/wire/account.ts';
import { answered } from '../../../lab/proxy/frame-matches.ts';
import { testPath } from '../../../lab/test-path.ts';
import { aborted, until } from '../../../lab/until.ts';
import { startProxy } from '../../../lab/proxy/zk-proxy.ts';
import { startRealServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';

describe('a lost session on servers that serve only accounts', function () {
  this.timeout(60_000);
  let server: ZooKeeperServer;

  before(async () => {
    server = await startRealServer({
      config: { 'enforce.auth.enabled': 'true', 'enforce.auth.schemes': 'digest' },
    });
  });
  after(() => server.stop());

  it('is closed with the accounts of the client, so that its znode does not block the queue', async () => {
    await using proxy = await startProxy(server.port);
    await using client = await LockClient.connect(proxy.connectString, {
      sessionTimeoutMs: 2_000,
      auth: [digest('alice:open sesame')],
    });
    let isClosed = false;
    client.on('background', ({ type }) => (isClosed ||= type === 'lost-session-closed'));
    const lost = client.session.id;
    const hold = await new InterProcessMutex(client, testPath('ghost')).acquire();
    const hear = proxy.on((frame) => (frame.from === 'server' ? 'drop' : undefined));
    await aborted(hold.signal);
    hear();
    await until('the next session is connected', () => client.session.id !== lost && client.session.isConnected);
    proxy.clear();
    await hold.release();
    await until('the lost session is closed', () => isClosed);
    expect(proxy.frames.filter((frame) => answered('closeSession')(frame) && frame.err !== 0)).to.deep.equal([]);
  });
});
