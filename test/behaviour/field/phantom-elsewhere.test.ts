import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { onFreshPorts } from '../../../lab/servers/free-port.ts';
import { nameOfServers, Resolver } from '../../../lab/resolver.ts';
import { showPhantom } from '../../../lab/proxy/phantom.ts';
import { startRelay } from '../../../lab/proxy/relay.ts';
import { startProxy, type ZkProxy } from '../../../lab/proxy/zk-proxy.ts';
import { awaitedLater } from './support.ts';

const sessionTimeoutMs = 4_000;

describe('FIELD D1: a waiter behind a znode that only one server still shows', () => {
  const lab = labOfEachTest('elsewhere', { server: 'own', proxy: true });

  /** The client waits for a holder, whose znode its server goes on to show. Resolves when the holder has released. */
  async function waitsBehindPhantom(client: LockClient, ill: ZkProxy): Promise<() => boolean> {
    const held = await new InterProcessMutex(lab.other, lab.path).acquire();
    const waiting = awaitedLater(new InterProcessMutex(client, lab.path).acquire());
    await ill.seen(
      ({ from, op, path, err }) => from === 'server' && op === 'getData' && path === held.path && err === 0,
    );
    showPhantom(ill, held.path);
    await held.release();
    let isGranted = false;
    void waiting.then(() => (isGranted = true));
    return () => isGranted;
  }

  it('goes to the third server if the second one is down', async () => {
    await using one = await startProxy(lab.server.port);
    await using two = await startProxy(lab.server.port);
    const others = [one, two];
    for (const other of others) await other.admit('refused');
    const servers = [lab.proxy, ...others].map(({ connectString }) => connectString).join();
    const client = await lab.connect({ sessionTimeoutMs }, servers);
    const before = others.map(({ dials }) => dials);
    const isGranted = await waitsBehindPhantom(client, lab.proxy);
    await lab.sleep(1.5 * sessionTimeoutMs);
    const untried = others.filter(({ dials }, index) => dials === before[index]);
    expect(untried).to.have.length(1);
    await untried[0]?.admit('served');
    await lab.sleep(3 * sessionTimeoutMs);
    expect(isGranted()).to.equal(true);
  });

  it('goes to another address of the same name', async () => {
    using resolver = new Resolver('127.0.0.2');
    await onFreshPorts(1, async ([port = 0]) => {
      await using _ill = await startRelay('127.0.0.2', port, lab.proxy.port);
      await using well = await startRelay('127.0.0.3', port, lab.server.port);
      await using client = await LockClient.connect(`${nameOfServers}:${port}`, { sessionTimeoutMs });
      resolver.addresses.push('127.0.0.3');
      const isGranted = await waitsBehindPhantom(client, lab.proxy);
      await lab.sleep(4 * sessionTimeoutMs);
      expect([well.connections, isGranted()]).to.deep.equal([1, true]);
    });
  });
});
