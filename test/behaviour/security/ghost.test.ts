import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { answered, sent } from '../../../lab/proxy/frame-matches.ts';
import { testPath } from '../../../lab/test-path.ts';
import { aborted, until } from '../../../lab/until.ts';
import { startProxy, type Frame } from '../../../lab/proxy/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';

describe('a lost session on a server that accepts it, and then answers no token of SASL', function () {
  this.timeout(60_000);
  const sessionTimeoutMs = 3_000;
  const password = 'open sesame';
  let server: ZooKeeperServer;

  before(async () => (server = await startServer({ security: { sasl: { alice: password } } })));
  after(() => server.stop());

  it('is given up, because each ConnectRequest extends it', async () => {
    await using proxy = await startProxy(server.port);
    await using client = await LockClient.connect(proxy.connectString, {
      sessionTimeoutMs,
      sasl: { mechanism: 'DIGEST-MD5', username: 'alice', password },
    });
    const lost = client.session.id;
    const hold = await new InterProcessMutex(client, testPath('ghost')).acquire();
    const hear = proxy.on((frame) => (frame.from === 'server' ? 'drop' : undefined));
    await aborted(hold.signal);
    hear();
    await until('the next session is connected', () => client.session.id !== lost && client.session.isConnected);
    const isDial = (frame: Frame): boolean => sent('connect')(frame) && frame.body.readBigInt64BE(16) === lost;
    proxy.clear();
    proxy.on((frame) => {
      const isOfLost = proxy.frames.some((dial) => isDial(dial) && dial.connection === frame.connection);
      return answered('sasl')(frame) && isOfLost ? 'drop' : undefined;
    });
    await hold.release();
    await proxy.seen(isDial, 2);
    const releasedAt = performance.now();
    const heardFor = (timeouts: number): Promise<void> =>
      until(
        `the servers have answered for ${timeouts} session timeouts`,
        () => client.session.connection.heardAt >= releasedAt + timeouts * sessionTimeoutMs,
        30_000,
      );
    await heardFor(3.5);
    const dialled = proxy.frames.filter(isDial).length;
    await heardFor(5);
    expect(proxy.frames.filter(isDial)).to.have.length(dialled);
  });
});
