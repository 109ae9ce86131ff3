import { expect } from 'chai';
import { startRealServer } from '../../../lab/servers/zookeeper-server.ts';
import { LockClient } from '../../../src/index.ts';

describe('a session whose znodes have long paths (ZOOKEEPER-4306)', function () {
  this.timeout(120_000);

  it('has as many as the client lets it have: the server starts again after its end', async () => {
    await using server = await startRealServer();
    const client = await LockClient.connect(server.connectString);
    const acquires = Array.from({ length: 300 }, (_, index) =>
      client.lock(`/full/${String(index).padStart(8_000, '-')}`),
    );
    const settled = await Promise.allSettled(acquires);
    expect(settled.filter(({ status }) => status === 'fulfilled').length).to.be.within(245, 250);
    await client.close();
    await server.kill();
    await server.start();
  });
});
