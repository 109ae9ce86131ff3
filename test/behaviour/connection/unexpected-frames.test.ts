import { expect } from 'chai';
import { exists } from '../../../src/zookeeper/wire/operations.ts';
import { Writer } from '../../../src/zookeeper/wire/wire.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { ConnectionProbe } from '../../../lab/wire/connection-probe.ts';

describe('a frame that answers no request', () => {
  const lab = labOfEachTest('unasked', { server: 'own', client: 'none' });
  let probe: ConnectionProbe;

  beforeEach(async () => (probe = await ConnectionProbe.connect([lab.server.port])));
  afterEach(() => probe[Symbol.dispose]());

  it('ends the connection, so that the next one is in a known state', async () => {
    const again = probe.next('connected');
    probe.receive(new Writer().int(7).long(0n).int(0).frame());
    await again;
    expect(probe.warnings.map(String)).to.deep.equal(['Error: The server answered request 7, but no answer was due']);
    await probe.send(exists('/'));
  });

  it('is ignored if it is a watch event of an unknown type', async () => {
    const asked = probe.send(exists('/'));
    probe.receive(new Writer().int(-1).long(0n).int(0).int(99).int(3).text('/').frame());
    await asked;
    expect(probe.fired).to.deep.equal([]);
    expect(probe.warnings).to.deep.equal([]);
  });
});
