import { expect } from 'chai';
import { InterProcessMutex } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { reached } from '../../../lab/reached.ts';
import { clientTls } from '../../../lab/servers/tls-keys.ts';

describe('a session over TLS', () => {
  const lab = labOfEachTest('secure-session', { server: { security: { tls: 'same-port' } }, client: 'none' });

  it('goes on after its server was killed, and the holder keeps its lock', async function () {
    this.timeout(60_000);
    const client = await lab.connect({ tls: clientTls(), sessionTimeoutMs: 30_000 }, lab.server.secureConnectString);
    const hold = await new InterProcessMutex(client, lab.path).acquire();
    const again = reached(client, 'reconnected');
    await lab.server.kill();
    await lab.server.start();
    await again;
    expect(hold.isValid).to.equal(true);
    expect(await hold.release()).to.equal('released');
  });

  it('attaches anew without being suspended', async () => {
    const client = await lab.connect({ tls: clientTls(), sessionTimeoutMs: 30_000 }, lab.server.secureConnectString);
    const states: string[] = [];
    client.on('state', (state) => void states.push(state));
    const { epoch } = client.session;
    await client.session.attach();
    expect(client.session.epoch).to.equal(epoch + 1);
    expect(states).to.deep.equal([]);
    await new InterProcessMutex(client, lab.path).withLock((hold) => expect(hold.isValid).to.equal(true));
  });
});
