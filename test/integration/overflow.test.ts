import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { labOfEachTest } from '../../harness/lab.ts';
import { rejection, until } from '../../harness/until.ts';

/** A real server, whose sequence numbers begin elsewhere for who looks through the proxy: 2^31 creations take weeks. */
describe('the last sequence numbers', () => {
  const lab = labOfEachTest('overflow', {
    server: 'own',
    proxy: true,
    client: { logger: { warn: (message) => void warnings.push(message) } },
  });
  let warnings: string[];

  beforeEach(() => void (warnings = []));

  /** `0000000042` on the server is `<digits>042` here. */
  const count = (digits: string): void => {
    lab.proxy.on(({ from, body }) => {
      const [here, there] = [`-lock-${digits}`, '-lock-0000000'];
      replaceAll(body, ...(from === 'server' ? ([there, here] as const) : ([here, there] as const)));
      return undefined;
    });
  };

  it('are warned of, once for each mutex', async () => {
    count('2147480');
    for (let round = 0; round < 3; round += 1) await (await lab.mutex.acquire()).release();
    expect(warnings).to.have.length(1);
    expect(warnings[0])
      .to.contain(lab.mutex.path)
      .and.to.contain('-lock-2147480000')
      .and.to.contain('close to its last sequence number');
  });

  it('are not enough for a grant without a list', async () => {
    count('2147480');
    const other = await LockClient.connect(lab.server.connectString);
    const hold = await new InterProcessMutex(other, lab.mutex.path).acquire();
    const waiting = lab.mutex.acquire();
    await lab.proxy.seen(
      (frame) => frame.from === 'server' && frame.op === 'getData' && frame.path?.endsWith('2147480000') === true,
    );
    lab.proxy.clear();
    await hold.release();
    await (await waiting).release();
    expect(lab.proxy.frames.filter((frame) => frame.from === 'client' && frame.op === 'getChildren2')).to.have.length(
      1,
    );
    await other.close();
  });

  it('are followed by an error that says what to do, and no znode stays', async () => {
    count('-214748');
    const error = await rejection(lab.mutex.acquire());
    expect(error).to.have.property('code', 'ERR_LOCK_SEQUENCE_OVERFLOW');
    expect(error.message).to.contain(lab.mutex.path).and.to.contain('-lock--214748000').and.to.contain('Delete');
    await until('its znode is gone', async () => (await lab.observer.children(lab.mutex.path)).length === 0);
  });
});

function replaceAll(bytes: Buffer, from: string, to: string): void {
  for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1)) bytes.write(to, at);
}
