import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection } from '../../../lab/until.ts';
import { startProxy, type Frame, type ZkProxy } from '../../../lab/proxy/zk-proxy.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import { reached } from '../../../lab/reached.ts';
import { crowd, isEmpty, returnAll, semaphoreOf, waits } from '../../../lab/semaphores.ts';

describe('a semaphore’s tryAcquire', () => {
  const lab = labOfEachTest('try-acquire', { server: 'own' });
  let proxy: ZkProxy;
  let watched: LockClient;

  beforeEach(async () => {
    proxy = await startProxy(lab.server.port);
    watched = await LockClient.connect(proxy.connectString);
  });

  afterEach(async () => {
    await watched.close({ timeoutMs: 500 });
    await proxy.close();
  });

  const below =
    (folder: 'locks' | 'leases', match: (frame: Frame) => boolean) =>
    (frame: Frame): boolean =>
      match(frame) && frame.path?.startsWith(`${lab.path}/${folder}`) === true;
  const writes = (): string[] =>
    proxy.frames
      .filter(({ from, op }) => from === 'client' && /^(create|delete|setData)/.test(op))
      .map(({ op, path }) => `${op} ${path ?? ''}`);
  /** Tries with each method. */
  const tries = async (client: LockClient, maxLeases: number): Promise<void> => {
    const semaphore = semaphoreOf(client, lab.path, maxLeases);
    expect(await semaphore.tryAcquire()).to.equal(undefined);
    expect((await rejection(semaphore.acquire({ timeoutMs: 0 }))).code).to.equal('ERR_LOCK_TIMEOUT');
    expect((await rejection(semaphore.acquireMany(maxLeases, { timeoutMs: 0 }))).code).to.equal('ERR_LOCK_TIMEOUT');
  };

  it('writes nothing while another client is queued, though all leases are free', async () => {
    const queueHead = await new InterProcessMutex(lab.other, `${lab.path}/locks`).acquire();
    await tries(watched, 2);
    expect(writes()).to.deep.equal([]);
    await queueHead.release();
    const leases = await semaphoreOf(watched, lab.path, 2).acquireMany(2, { timeoutMs: 0 });
    expect(leases.map(({ isValid }) => isValid)).to.deep.equal([true, true]);
    await returnAll(leases);
  });

  it('writes nothing if fewer leases are free than requested', async () => {
    const gate = await semaphoreOf(lab.other, lab.path, 2).acquire();
    await crowd(lab.observer, lab.path, { leases: 1, locks: 0 });
    expect((await rejection(semaphoreOf(watched, lab.path, 2).acquireMany(2, { timeoutMs: 0 }))).code).to.equal(
      'ERR_LOCK_TIMEOUT',
    );
    expect(writes()).to.deep.equal([]);
    const lease = await semaphoreOf(watched, lab.path, 2).tryAcquire();
    expect(lease?.isValid).to.equal(true);
    await returnAll([gate, lease]);
  });

  it('counts the leases behind a sync, because its server may lag behind', async () => {
    const lease = await semaphoreOf(watched, lab.path, 1).tryAcquire();
    const asked = proxy.frames
      .filter(({ from, path }) => from === 'client' && path?.startsWith(`${lab.path}/`))
      .map(({ op, path }) => `${op} ${path?.slice(lab.path.length) ?? ''}`);
    expect(asked.slice(0, 3)).to.deep.equal(['sync /leases', 'getChildren2 /locks', 'getChildren2 /leases']);
    await lease?.release();
  });

  it('writes nothing if its caller aborts while it counts the leases', async () => {
    const controller = new AbortController();
    const reason = new Error('changed my mind');
    const counted = below('leases', answered('getChildren2'));
    await (await semaphoreOf(lab.other, lab.path, 1).acquire()).release();
    once(proxy, counted, () => (controller.abort(reason), 'pass'));
    const trying = semaphoreOf(watched, lab.path, 1).tryAcquire({ signal: controller.signal });
    expect(await rejection(trying)).to.equal(reason);
    await proxy.seen(counted);
    // The reply to this request follows the leases.
    await semaphoreOf(watched, lab.path, 1).holders();
    expect(writes()).to.deep.equal([]);
  });

  it('does not overtake a client that holds the inner mutex, and has not taken its free lease yet', async () => {
    const gate = await semaphoreOf(lab.other, lab.path, 1).acquire();
    const first = semaphoreOf(lab.other, lab.path, 1).acquire();
    await waits(lab.observer, lab.path, 2);
    const second = semaphoreOf(watched, lab.path, 1).acquire();
    await crowd(lab.observer, lab.path, { leases: 2, locks: 2 });
    let proceed = (): void => undefined;
    once(proxy, below('leases', sent('create2')), { delayUntil: new Promise<void>((resolve) => (proceed = resolve)) });
    await gate.release();
    await (await first).release();
    await proxy.seen(below('leases', sent('create2')));
    await crowd(lab.observer, lab.path, { leases: 0, locks: 1 });
    await tries(lab.client, 1);
    proceed();
    await (await second).release();
    await isEmpty(lab.observer, lab.path);
  });

  it('returns undefined and leaves no znode if another client takes the last lease after the list', async () => {
    let taken = (): void => undefined;
    once(proxy, below('locks', sent('create2')), { delayUntil: new Promise<void>((resolve) => (taken = resolve)) });
    await (await semaphoreOf(lab.other, lab.path, 1).acquire()).release();
    const trying = semaphoreOf(watched, lab.path, 1).tryAcquire();
    await proxy.seen(below('locks', sent('create2')));
    await using _lease = await semaphoreOf(lab.other, lab.path, 1).acquire();
    await crowd(lab.observer, lab.path, { leases: 1, locks: 0 });
    taken();
    expect(await trying).to.equal(undefined);
    await crowd(lab.observer, lab.path, { leases: 1, locks: 0 });
  });

  it('returns undefined and leaves no znode if another client queues up after the list', async () => {
    let queued = (): void => undefined;
    once(proxy, below('locks', sent('create2')), { delayUntil: new Promise<void>((resolve) => (queued = resolve)) });
    await (await semaphoreOf(lab.other, lab.path, 1).acquire()).release();
    const trying = semaphoreOf(watched, lab.path, 1).tryAcquire();
    await proxy.seen(below('locks', sent('create2')));
    await using _queueHead = await new InterProcessMutex(lab.other, `${lab.path}/locks`).acquire();
    queued();
    expect(await trying).to.equal(undefined);
    await crowd(lab.observer, lab.path, { leases: 0, locks: 1 });
  });

  it('refuses a folder with foreign children, by its path below the chroot, and writes nothing', async () => {
    await using below = await LockClient.connect(`${lab.connectString}${lab.path}`);
    await (await semaphoreOf(below, '/inner', 2).acquire()).release();
    await lab.observer.create(`${lab.path}/inner/leases/_c_9d3a40af-0a1b-4c2d-8e3f-405162738495-lock-0000000000`);
    const error = await rejection(semaphoreOf(below, '/inner', 2).tryAcquire());
    expect(error.code).to.equal('ERR_LOCK_FOREIGN_NODE');
    expect(error.message).to.contain('The lock /inner/leases has children');
    expect(await lab.observer.children(`${lab.path}/inner/locks`)).to.deep.equal([]);
  });

  for (const folder of ['locks', 'leases'] as const)
    it(`settles and leaves no znode if the reply to its create below ${folder} is lost`, async () => {
      await (await semaphoreOf(watched, lab.path, 1).acquire()).release();
      const suspended = reached(watched, 'suspended');
      once(proxy, below(folder, answered('create2')), 'cut');
      await proxy.refuse();
      const lease = await semaphoreOf(watched, lab.path, 1).tryAcquire();
      expect(lease).to.equal(undefined);
      await suspended;
      await proxy.accept();
      await isEmpty(lab.observer, lab.path);
    });
});
