import { expect } from 'chai';
import { InterProcessMutex, InterProcessSemaphore, LockClient } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { rejection, until } from '../../lab/until.ts';

/**
 * Uses a real server. The proxy shifts its sequence numbers for the client, because 2^31 creations would take weeks.
 */
describe('the last sequence numbers', () => {
  const lab = labOfEachTest('overflow', {
    server: 'own',
    proxy: true,
    client: { logger: { warn: (_details, message) => void warnings.push(message) } },
  });
  let warnings: string[];

  beforeEach(() => void (warnings = []));

  /** Shows the server's `0000000042` to the client as `<digits>042`. */
  const count = (digits: string, name = 'lock'): void => {
    lab.proxy.on(({ from, body }) => {
      const [here, there] = [`-${name}-${digits}`, `-${name}-0000000`];
      replaceAll(body, ...(from === 'server' ? ([there, here] as const) : ([here, there] as const)));
      return undefined;
    });
  };

  it('are logged once for each lock', async () => {
    count('2147480');
    for (let round = 0; round < 3; round += 1) await (await lab.mutex.acquire()).release();
    expect(warnings).to.have.length(1);
    expect(warnings[0])
      .to.contain(lab.mutex.path)
      .and.to.contain('-lock-2147480000')
      .and.to.contain('close to its last sequence number');
  });

  it('are logged once for the leases of a semaphore', async () => {
    count('2147480', 'lease');
    const semaphore = new InterProcessSemaphore(lab.client, lab.mutex.path, { maxLeases: 1 });
    for (let round = 0; round < 3; round += 1) await (await semaphore.acquire()).release();
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain(`${lab.mutex.path}/leases`).and.to.contain('-lease-2147480000');
  });

  it('do not allow a grant without a list', async () => {
    count('2147480');
    await using other = await LockClient.connect(lab.server.connectString);
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
  });

  for (const [server, digits] of [
    ['ZooKeeper', '-214748'],
    // ClickHouse's pull request 99120: 64 bits.
    ['ClickHouse Keeper', '2147484'],
  ] as const)
    it(`are followed by an error that names the remedy, and leave no znode: ${server}`, async () => {
      count(digits);
      const error = await rejection(lab.mutex.acquire());
      expect(error).to.have.property('code', 'ERR_LOCK_SEQUENCE_OVERFLOW');
      expect(error.message).to.contain(lab.mutex.path).and.to.contain(`-lock-${digits}000`).and.to.contain('Delete');
      await until('the znode is deleted', async () => (await lab.observer.children(lab.mutex.path)).length === 0);
    });
});

function replaceAll(bytes: Buffer, from: string, to: string): void {
  for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1)) bytes.write(to, at);
}
