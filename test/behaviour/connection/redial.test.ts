import { expect } from 'chai';
import { roundDelayMs } from '../../../src/zookeeper/connection/host-history.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { from } from '../../../lab/proxy/frame-matches.ts';
import { startProxy, type Frame } from '../../../lab/proxy/zk-proxy.ts';
import { aborted, until } from '../../../lab/until.ts';

const sessionTimeoutMs = 4_000;

/** The shortest pauses are 0, 25, 50, 100, 200, 400 and then 500 ms: the twelfth dial is 3,775 ms after the loss. */
const mostDials = 12;

describe('a server', () => {
  const lab = labOfEachTest('redial', {
    server: { config: { maxSessionTimeout: sessionTimeoutMs } },
    proxy: true,
    client: { sessionTimeoutMs },
  });

  const isAnswer = (frame: Frame): boolean => frame.from === 'server' && frame.op !== 'connect';
  const isWrite = (frame: Frame): boolean => frame.from === 'server' && frame.op === 'multi';
  const cutShort = Buffer.of(0, 0, 0, 3, 1, 2, 3);
  const isDial = from('client', 'connect');

  for (const [what, action, isRefused] of [
    ['answers every request with -112', { replaceError: -112 }, isAnswer],
    ['answers every request with -118', { replaceError: -118 }, isAnswer],
    ['answers every write with -118, and serves the rest', { replaceError: -118 }, isWrite],
    ['serves one request, and closes the connection', 'cut-after', isAnswer],
    ['serves reads, and answers every write with three bytes', { replaceWith: cutShort }, isWrite],
  ] as const)
    it(`that ${what} is dialled at most ${mostDials} times in a session timeout`, async () => {
      const hold = await lab.mutex.acquire();
      lab.proxy.clear();
      const accept = lab.proxy.on((frame) => (isRefused(frame) ? action : undefined));
      await aborted(hold.signal);
      expect(lab.proxy.frames.filter(isDial).length).to.be.within(2, mostDials);
      accept();
      await hold.release();
      await lab.mutex.withLock((again) => expect(again.isValid).to.equal(true));
    });

  for (const isHeld of [false, true])
    it(`that is back is reached in time ${isHeld ? 'by the next session' : 'by the same session'}, also if the client asks for more than the servers grant`, async () => {
      await using silent = await startProxy(lab.server.port);
      const hosts = [lab.proxy, silent].map(({ connectString }) => connectString).join(',');
      const client = await lab.connect({ sessionTimeoutMs: 3_600_000 }, hosts);
      if (isHeld) await client.lock(lab.path);
      await silent.admit('silent');
      await lab.proxy.refuse();
      silent.cut();
      lab.proxy.cut();
      await until('the session is lost', () => client.state === 'lost');
      // Longer than the time of a first connection.
      await lab.sleep(5 * sessionTimeoutMs);
      await lab.proxy.accept();
      // An attempt lasts a third of the timeout at most, and there are two servers.
      await until('the client is reconnected', () => client.state === 'reconnected', sessionTimeoutMs);
    });

  it('is dialled so often at most if every pause is as short as it can be', () => {
    const dialledAt = (dials: number): number =>
      Array.from({ length: dials }, (_, round) => roundDelayMs(round, 0)).reduce((sum, pause) => sum + pause);
    expect(dialledAt(mostDials)).to.equal(3_775);
    expect(dialledAt(mostDials + 1)).to.be.above(sessionTimeoutMs);
  });
});
