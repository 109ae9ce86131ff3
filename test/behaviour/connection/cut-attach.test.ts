import { expect } from 'chai';
import { setData } from '../../../src/zookeeper/wire/operations.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { statesOf } from '../field/support.ts';

const sessionTimeoutMs = 6_000;

describe('an attach whose old connection ends', () => {
  const lab = labOfEachTest('cut-attach', { server: 'own', proxy: true, client: { sessionTimeoutMs } });

  it('keeps what is asked for afterwards, until it has a new one', async () => {
    await (await lab.mutex.acquire()).release();
    await lab.sleep(3 * sessionTimeoutMs);
    const states = statesOf(lab.client);
    lab.proxy.roundTrip(100);
    await lab.sleep(500);
    const { session } = lab.client;
    const attached = session.attach();
    await lab.sleep(20);
    lab.proxy.cut();
    await lab.sleep(60);
    const changed = session.request(setData(lab.path, Buffer.from('x')));
    await attached;
    expect((await changed).zxid > 0n).to.equal(true);
    expect(states).to.deep.equal([]);
  });
});
