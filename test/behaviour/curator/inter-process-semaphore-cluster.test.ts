import { expect } from 'chai';
import { LockClient } from '../../../src/index.ts';
import { testPath } from '../../../lab/test-path.ts';
import { until } from '../../../lab/until.ts';
import { startEnsemble, type Ensemble } from '../../../lab/servers/zookeeper-server.ts';
import { semaphoreOf } from '../../../lab/semaphores.ts';
import { reached } from '../../../lab/reached.ts';

describe('TestInterProcessSemaphoreCluster', () => {
  let ensemble: Ensemble;
  let clients: LockClient[];
  let path: string;

  before(async () => (ensemble = await startEnsemble(3)));

  beforeEach(async () => {
    path = testPath('cluster');
    clients = await Promise.all(
      Array.from({ length: 10 }, () => LockClient.connect(ensemble.connectString, { sessionTimeoutMs: 4_000 })),
    );
  });

  afterEach(() => Promise.all(clients.map((client) => client.close({ timeoutMs: 500 }))));

  after(() => ensemble.stop());

  const killAll = (): Promise<unknown> => Promise.all(ensemble.servers.map((server) => server.kill()));

  it('testKilledServerWithEnsembleProvider: one lease at a time', async () => {
    const inside = new Set<number>();
    let isOver = false;
    let most = 0;
    const owner = async (client: LockClient, number: number): Promise<void> => {
      const semaphore = semaphoreOf(client, path, 1);
      while (!isOver) {
        const lease = await semaphore.acquire({ timeoutMs: 60_000 }).catch(() => undefined);
        if (lease === undefined) return;
        if (lease.isValid) inside.add(number);
        most = Math.max(most, inside.size);
        await new Promise<void>((resolve) => {
          lease.signal.addEventListener('abort', () => resolve(), { once: true });
          client.once('state', () => resolve());
        });
        inside.delete(number);
        await lease.release();
      }
    };
    const owners = clients.map(owner);
    await until('one client is inside', () => inside.size === 1);

    const suspended = clients.map((client) => reached(client, 'suspended'));
    await killAll();
    await Promise.all(suspended);
    expect(inside.size).to.equal(0);

    await Promise.all(ensemble.servers.map((server) => server.start()));
    await until('one client is inside again', () => inside.size === 1);
    await semaphoreOf(clients[0] as LockClient, path, 1).participants();
    // The client inside leaves if its connection is lost, as it may be while the servers start.
    await until('one client is inside still, or again', () => inside.size === 1);
    expect(most).to.equal(1);
    isOver = true;
    await Promise.all(clients.map((client) => client.close({ timeoutMs: 1_000 })));
    await Promise.all(owners);
  });

  it('testCluster: the clients go on when a majority is back', async () => {
    let operations = 0;
    let isOver = false;
    const owner = async (client: LockClient): Promise<void> => {
      const semaphore = semaphoreOf(client, path, 1);
      while (!isOver) {
        const lease = await semaphore.acquire({ timeoutMs: 60_000 }).catch(() => undefined);
        if (lease === undefined) return;
        if (lease.isValid) operations += 1;
        await lease.release();
      }
    };
    const owners = clients.map(owner);
    await until('all clients work', () => operations >= 20);
    const lost = clients.map((client) => reached(client, 'lost'));
    await killAll();
    await Promise.all(lost);
    const before = operations;

    const [first, second] = ensemble.servers;
    await Promise.all([first?.start(), second?.start()]);
    await until('all clients work again', () => operations >= before + 20);
    isOver = true;
    await Promise.all(clients.map((client) => client.close({ timeoutMs: 1_000 })));
    await Promise.all(owners);
  });
});
