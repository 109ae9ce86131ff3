import { expect } from 'chai';
import { InterProcessSemaphore, LockClient, LockLostError } from '../../../src/index.ts';
import { connectObserver as stranger, type Observer as Stranger } from '../../../harness/observer.ts';
import { testPath } from '../../../harness/test-path.ts';
import { aborted, rejection, until } from '../../../harness/until.ts';
import { startProxy, type Frame, type ZkProxy } from '../../../harness/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../../harness/zookeeper-server.ts';
import { answered, once, sent } from '../../../harness/frame-matches.ts';
import { reached } from '../../../harness/reached.ts';
import { crowd, isEmpty, returnAll, semaphoreOf, setCount, waits } from '../../../harness/semaphores.ts';

describe('a semaphore and a fault', () => {
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let client: LockClient;
  let other: LockClient;
  let outside: Stranger;
  let path: string;

  before(async () => {
    server = await startServer();
    outside = await stranger(server.connectString);
  });

  beforeEach(async () => {
    path = testPath('semaphore');
    proxy = await startProxy(server.port);
    [client, other] = await Promise.all([LockClient.connect(proxy.connectString, { sessionTimeoutMs: 4_000 }), LockClient.connect(server.connectString)]);
  });

  afterEach(async () => {
    await Promise.all([client.close({ timeoutMs: 500 }), other.close()]);
    await proxy.close();
  });

  after(async () => {
    await outside[Symbol.asyncDispose]();
    await server.stop();
  });

  const ofLeases = (match: (frame: Frame) => boolean) => (frame: Frame): boolean => match(frame) && frame.path?.startsWith(`${path}/leases`) === true;
  const warmUp = async (): Promise<unknown> => (await semaphoreOf(client, path, 2).acquire()).release();

  it('that loses the answer to the create of a lease: it is searched by its uuid behind a quorum write, and granted', async () => {
    await warmUp();
    proxy.clear();
    once(proxy, ofLeases(answered('create2')), 'cut');
    const lease = await semaphoreOf(client, path, 2).acquire();
    expect(lease.isValid).to.equal(true);
    expect(await outside.children(`${path}/leases`)).to.deep.equal([lease.path.slice(`${path}/leases/`.length)]);
    const ops = proxy.frames.filter(({ from, connection }) => from === 'client' && connection === 2).map(({ op, path: asked }) => `${op} ${asked ?? ''}`);
    const search = ops.indexOf(`getChildren2 ${path}/leases`);
    expect(ops.slice(0, search)).to.include('multi /');
    await lease.release();
    await isEmpty(outside, path);
  });

  it('that loses the answer to the create of a lease whose caller has given up: lease and mutex are deleted', async () => {
    await warmUp();
    proxy.clear();
    const controller = new AbortController();
    once(proxy, ofLeases(answered('create2')), 'cut');
    const acquiring = rejection(semaphoreOf(client, path, 2).acquire({ signal: controller.signal }));
    await proxy.seen(ofLeases(answered('create2')));
    controller.abort(new Error('enough'));
    expect((await acquiring).message).to.equal('enough');
    await isEmpty(outside, path);
    const deleted = proxy.frames.filter((frame) => sent('delete')(frame) && frame.connection === 2).map((frame) => frame.path?.slice(path.length + 1, path.length + 6));
    expect(deleted, 'the lease goes first').to.deep.equal(['lease', 'locks']);
  });

  it('that cuts the create of a lease: it is created again, in the same turn', async () => {
    await warmUp();
    proxy.clear();
    once(proxy, ofLeases(sent('create2')), 'cut');
    const lease = await semaphoreOf(client, path, 2).acquire();
    await crowd(outside, path, { leases: 1, locks: 0 });
    expect(proxy.frames.filter((frame) => sent('create2')(frame) && frame.path?.startsWith(`${path}/locks`))).to.have.length(1);
    await lease.release();
  });

  for (const op of ['getChildren2', 'watch'] as const) {
    it(`that takes the news from who waits (${op}): it is let in all the same`, async () => {
      const gate = await semaphoreOf(other, path, 1).acquire();
      // The third list is the one that watches.
      let lists = 0;
      const isLost = (frame: Frame): boolean => frame.from === 'server' && frame.op === op && frame.path === `${path}/leases` && (op === 'watch' || (lists += 1) === 2);
      once(proxy, isLost, 'cut');
      const suspended = reached(client, 'suspended');
      const waiting = semaphoreOf(client, path, 1).acquire();
      if (op === 'watch') {
        await waits(outside, path, 2);
        await until('it is watched', () => client.session.watchedPaths('children').includes(`${path}/leases`));
        await client.session.prove();
      } else {
        await suspended;
      }
      await gate.release();
      await suspended;
      await (await waiting).release();
      await isEmpty(outside, path);
    });
  }

  it('that cuts the connection before who waits could watch, when the news is older than the last answer: it is let in all the same', async () => {
    const gate = await semaphoreOf(other, path, 1).acquire();
    const isOfLeases = (frame: Frame): boolean => frame.op === 'getChildren2' && frame.path === `${path}/leases`;
    const changed = proxy.seen((frame) => frame.from === 'server' && isOfLeases(frame)).then(async () => {
      await gate.release();
      proxy.clear();
      void client.session.prove().catch(() => undefined);
      await proxy.seen(answered('multi'));
    });
    once(proxy, (frame) => frame.from === 'server' && isOfLeases(frame), { delayUntil: changed });
    const waiting = semaphoreOf(client, path, 1).acquire();
    await changed;
    once(proxy, (frame) => frame.from === 'client' && isOfLeases(frame), 'cut');
    await (await waiting).release();
    await isEmpty(outside, path);
  });

  it('that cuts the connection while a shared count grows: who waits is let in when it is back', async () => {
    const count = testPath('count');
    await outside.create(count.slice(0, -'/count'.length));
    await outside.create(count);
    await setCount(other, count, 1);
    const semaphore = new InterProcessSemaphore(client, path, { sharedCount: count });
    const first = await semaphore.acquire();
    const waiting = semaphore.acquire();
    await waits(outside, path, 2);
    await until('both are watched', () => client.session.watchedPaths('data').includes(count));
    const suspended = reached(client, 'suspended');
    await proxy.refuse();
    proxy.cut();
    await suspended;
    await setCount(other, count, 2);
    await proxy.accept();
    await returnAll([first, await waiting]);
  });

  it('that ends the session: the leases are lost and say so, who waits starts over, and what was lost is free', async () => {
    const semaphore = semaphoreOf(client, path, 2);
    const leases = await semaphore.acquireMany(2);
    const waiting = semaphore.acquire();
    await waits(outside, path, 3);
    const told = leases.map((lease) => aborted(lease.signal));
    await outside.endSession(client);
    for (const reason of await Promise.all(told)) expect(reason).to.be.instanceOf(LockLostError).with.property('reason', 'session-expired');
    const next = await waiting;
    expect([...leases, next].map(({ isValid }) => isValid)).to.deep.equal([false, false, true]);
    expect((await semaphore.participants()).map((participant) => participant.path)).to.deep.equal([next.path]);
    expect(await Promise.all(leases.map((lease) => lease.release()))).to.deep.equal(['lost', 'lost']);
    expect(next.isValid).to.equal(true);
    await next.release();
  });

  it('that silences the server: the holder is told before anybody else gets the lease', async () => {
    const lease = await semaphoreOf(client, path, 1).acquire();
    let isTold = false;
    void aborted(lease.signal).then(() => (isTold = true));
    const waiting = semaphoreOf(other, path, 1).acquire();
    await waits(outside, path, 2);
    proxy.silence();
    const next = await waiting;
    expect(isTold).to.equal(true);
    expect(await lease.release()).to.equal('lost');
    proxy.speak();
    await next.release();
  });

  it('that is the end of the client: who waits is told, and nothing stays', async () => {
    const semaphore = semaphoreOf(client, path, 1);
    const lease = await semaphore.acquire();
    const waiting = [rejection(semaphore.acquire()), rejection(semaphore.acquireMany(1))];
    await crowd(outside, path, { leases: 2, locks: 2 });
    const told = aborted(lease.signal);
    await client.close();
    for (const error of await Promise.all(waiting)) expect(error).to.have.property('code', 'ERR_LOCK_CLIENT_CLOSED');
    expect(await told).to.have.property('reason', 'client-closed');
    await isEmpty(outside, path);
    expect((await rejection(semaphore.acquire())).code).to.equal('ERR_LOCK_CLIENT_CLOSED');
  });

  it('that outlasts the time: it settles at once, and what it may have created is deleted when a server is there', async () => {
    const lease = await semaphoreOf(other, path, 1).acquire();
    const waiting = rejection(semaphoreOf(client, path, 1).acquire({ timeoutMs: 1_500 }));
    await waits(outside, path, 2);
    await proxy.refuse();
    proxy.cut();
    expect((await waiting).code).to.equal('ERR_LOCK_TIMEOUT');
    await proxy.accept();
    await crowd(outside, path, { leases: 1, locks: 0 });
    await lease.release();
  });
});
