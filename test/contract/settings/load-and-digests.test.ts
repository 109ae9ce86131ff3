import { expect } from 'chai';
import { needs } from '../../../lab/skip-without.ts';
import { startRealServer, type ServerOptions } from '../../../lab/servers/zookeeper-server.ts';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';

/** Takes 80 locks, and returns what the server says of itself after that. */
async function afterLocks(word: string, config: NonNullable<ServerOptions['config']>): Promise<string> {
  await using server = await startRealServer({ config });
  await using client = await LockClient.connect(server.connectString);
  const states: string[] = [];
  client.on('state', (state) => states.push(state));
  const jobs = Array.from({ length: 80 }, (_, index) =>
    new InterProcessMutex(client, `/locks/${index}`).withLock((hold) => hold.isValid),
  );
  expect(await Promise.all(jobs)).not.to.include(false);
  expect(states).to.deep.equal([]);
  return await server.command(word);
}

describe('a real server', () => {
  it('that answers THROTTLED_OP serves all locks on one connection', async function () {
    needs(this, 'throttledOpWaitTime');
    const figures = await afterLocks('mntr', { request_throttle_max_requests: 1, throttled_op_wait_time: 1 });
    expect(Number(/^zk_throttled_ops\t(\d+)$/m.exec(figures)?.[1])).to.be.above(0);
  });

  for (const isOn of [true, false])
    it(`with digest.enabled=${isOn} serves all locks`, async function () {
      needs(this, 'digest.enabled');
      // The server prints the digests that it keeps, one of 128 transactions. Without digests they are 0.
      const digests = await afterLocks('hash', { 'digest.enabled': String(isOn) });
      expect(digests.match(/: .+$/gm)).to.have.length.above(1);
      expect(/: [^0]/.test(digests)).to.equal(isOn);
    });
});
