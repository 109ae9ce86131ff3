import { expect } from 'chai';
import { InterProcessMutex, LockClient, retryNTimes } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { connectObserver } from '../../../lab/wire/observer.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection, until } from '../../../lab/until.ts';
import { startProxy } from '../../../lab/proxy/zk-proxy.ts';
import { startEnsemble, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import { reached } from '../../../lab/reached.ts';

describe('TestFrameworkEdges', () => {
  const lab = labOfEachTest('edges', { server: 'own', client: 'none' });

  it('testMissedResponseOnESCreate: a create with a lost reply is not repeated, and its znode is held', async () => {
    await using proxy = await startProxy(lab.server.port);
    await using client = await LockClient.connect(proxy.connectString, { sessionTimeoutMs: 10_000 });
    const path = testPath('missed-response');
    const mutex = new InterProcessMutex(client, path);
    await mutex.withLock(() => undefined);
    proxy.clear();
    once(proxy, answered('create2'), 'cut');
    const hold = await mutex.acquire();
    const created = proxy.frames.filter(sent('create2')).map((frame) => frame.path ?? '');
    expect(created).to.have.length(1);
    expect(hold.path.startsWith(created[0] ?? 'none')).to.equal(true);
    expect(await lab.observer.children(path)).to.deep.equal([hold.path.slice(path.length + 1)]);
    await hold.release();
  });

  for (const namespace of ['', '/nm'])
    it(`testProtectedCreateNodeDeletion: the znode is deleted at the second try (namespace '${namespace}')`, async () => {
      await using proxy = await startProxy(lab.server.port);
      await using client = await LockClient.connect(`${proxy.connectString}${namespace}`, {
        sessionTimeoutMs: 10_000,
        retryPolicy: retryNTimes(0, 0),
      });
      const path = testPath('protected');
      const mutex = new InterProcessMutex(client, path);
      await mutex.withLock(() => undefined);
      expect(await lab.observer.children(`${namespace}${path}`)).to.deep.equal([]);

      proxy.clear();
      once(proxy, answered('create2'), 'cut');
      once(proxy, sent('delete'), 'cut');
      const controller = new AbortController();
      const failing = rejection(mutex.acquire({ signal: controller.signal }));
      await proxy.seen(answered('create2'));
      controller.abort(new Error('enough'));
      expect((await failing).message).to.equal('enough');
      await proxy.seen(answered('delete'));
      expect(proxy.frames.filter(sent('delete'))).to.have.length(2);
      expect(await lab.observer.children(`${namespace}${path}`)).to.deep.equal([]);
    });

  it('testProtectionWithKilledSession: only the znode of the new session remains', async () => {
    await using ensemble = await startEnsemble(3);
    const leader = await ensemble.leader();
    const [target, another] = ensemble.servers.filter((member) => member !== leader) as [
      ZooKeeperServer,
      ZooKeeperServer,
    ];
    await using remaining = await connectObserver(another.connectString);
    await using proxy = await startProxy(target.port);
    await using client = await LockClient.connect(proxy.connectString, { sessionTimeoutMs: 4_000 });
    const path = testPath('killed-session');
    const mutex = new InterProcessMutex(client, path);
    await mutex.withLock(() => undefined);

    const before = client.session.id;
    const suspended = reached(client, 'suspended');
    let killed = Promise.resolve();
    const remove = proxy.on((frame) => {
      if (!answered('create2')(frame)) return undefined;
      remove();
      killed = target.kill();
      return 'cut';
    });
    const acquiring = mutex.acquire();
    await suspended;
    await killed;
    // The remaining servers may lag behind the one that has answered.
    await until(
      'the znode of the session that is about to expire is there',
      async () => (await remaining.children(path)).length === 1,
    );
    await until(
      'the remaining servers have expired the session',
      async () => (await remaining.children(path)).length === 0,
    );
    await target.start();

    const hold = await acquiring;
    expect(client.session.id).not.to.equal(before);
    expect(await mutex.participants()).to.have.length(1);
    const [holder] = await mutex.participants();
    expect(holder?.path).to.equal(hold.path);
    expect(holder?.sessionId).to.equal(`0x${client.session.id.toString(16)}`);
    await hold.release();
  });
});
