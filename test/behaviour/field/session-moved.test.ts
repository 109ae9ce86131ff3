import { expect } from 'chai';
import { labOfEachTest } from '../../../lab/lab.ts';
import { sent } from '../../../lab/proxy/frame-matches.ts';
import { InterProcessMutex } from '../../../src/index.ts';
import { keepsWarnings, statesOf } from './support.ts';

const sessionTimeoutMs = 6_000;

describe('ZOOKEEPER-2886: a server that answers SESSION_MOVED to each transaction of one connection', function () {
  const lab = labOfEachTest('session-moved', { server: 'own', proxy: true, client: 'none' });

  it('costs that connection, and no lock; the log has the name of the error', async () => {
    const { logger, warnings } = keepsWarnings();
    const client = await lab.connect({ sessionTimeoutMs, logger });
    const states = statesOf(client);
    await using hold = await new InterProcessMutex(client, lab.path).acquire();
    const { dials } = lab.proxy;
    lab.proxy.on((frame) => (sent('multi')(frame) && frame.connection === dials ? { refuse: -118 } : undefined));
    await lab.sleep(4 * sessionTimeoutMs);
    expect(hold.isValid).to.equal(true);
    expect(states).to.deep.equal(['suspended', 'reconnected']);
    expect(lab.proxy.dials).to.equal(dials + 1);
    expect(warnings.join()).to.include('the server answered multi with SESSION_MOVED');
  });
});
