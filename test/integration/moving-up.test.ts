import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { testPath } from '../support/test-path.ts';
import { rejection, until } from '../support/until.ts';
import { startProxy, type ZkProxy } from '../support/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../support/zookeeper-server.ts';
import { queueReaches } from './contexts/lock-of-each-test.ts';

describe('a waiter whose predecessor gives up', () => {
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let clients: LockClient[];

  before(async () => {
    server = await startServer();
    proxy = await startProxy(server.port);
    clients = await Promise.all([server, server, proxy].map(({ connectString }) => LockClient.connect(connectString)));
  });

  after(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await proxy.close();
    await server.stop();
  });

  for (const [where, number] of Object.entries({ another: 1, 'the same': 2 })) {
    it(`in ${where} session waits behind the holder, and is not granted before that lets go`, async () => {
      const path = testPath('moving-up');
      const [holder, predecessor, waiter] = [0, number, 2].map((of) => new InterProcessMutex(clients[of] as LockClient, path)) as [InterProcessMutex, InterProcessMutex, InterProcessMutex];
      const hold = await holder.acquire();
      const controller = new AbortController();
      const impatient = rejection(predecessor.acquire({ signal: controller.signal }));
      await queueReaches(holder, 2);
      let isGranted = false;
      const waiting = waiter.acquire().finally(() => (isGranted = true));
      await queueReaches(holder, 3);
      // Else it would have to look for its own sake.
      const own = (await waiter.participants())[2]?.path ?? '';
      await until('its own znode is watched', () => clients[2]?.session.watchedPaths('data').includes(own) === true);
      // One connection answers in order: the waiter has seen who is before it, and that its znode is there.
      await waiter.participants();
      proxy.clear();
      controller.abort();
      await impatient;
      await proxy.seen((frame) => frame.from === 'client' && frame.op === 'getChildren2');
      await proxy.seen((frame) => isGranted || (frame.from === 'server' && frame.op === 'getData' && frame.path === hold.path));
      expect(isGranted).to.equal(false);
      expect(hold.isValid).to.equal(true);
      await hold.release();
      await (await waiting).release();
    });
  }
});
