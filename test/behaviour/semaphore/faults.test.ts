import { expect } from 'chai';
import { forceRelease, InterProcessSemaphore, LockLostError, type RetryPolicy } from '../../../src/index.ts';
import { createSequential, openAcl } from '../../../src/zookeeper/wire/operations.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { type Frame } from '../../../lab/proxy/zk-proxy.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import { reached } from '../../../lab/reached.ts';
import { crowd, isEmpty, returnAll, semaphoreOf, setCount, waits } from '../../../lab/semaphores.ts';

describe('a fault of a semaphore', () => {
  const lab = labOfEachTest('semaphore', { server: 'own', proxy: true, client: { sessionTimeoutMs: 4_000 } });

  const ofLeases =
    (match: (frame: Frame) => boolean) =>
    (frame: Frame): boolean =>
      match(frame) && frame.path?.startsWith(`${lab.path}/leases`) === true;
  /** Cuts the connection instead of the answer to the create of a lease. Returns a test for frames after that. */
  const cutAtReply = (): ((frame: Frame) => boolean) => {
    let cutAt = Infinity;
    once(lab.proxy, ofLeases(answered('create2')), ({ connection }) => {
      cutAt = connection;
      return 'cut';
    });
    return ({ connection }) => connection > cutAt;
  };
  const warmUp = async (): Promise<unknown> => (await semaphoreOf(lab.client, lab.path, 2).acquire()).release();

  it('never hides a change of the shared count that another call of the object has read', async () => {
    const count = testPath('count');
    await lab.observer.create(count.slice(0, -'/count'.length));
    await lab.observer.create(count);
    await setCount(lab.other, count, 2);
    const semaphore = new InterProcessSemaphore(lab.client, lab.path, { sharedCount: count });
    await warmUp();
    const java = `${lab.path}/leases/_c_9d3a40af-0a1b-4c2d-8e3f-405162738495-lease-`;
    await lab.other.session.request(createSequential(java, new Uint8Array(0), openAcl));
    const both = semaphore.acquireMany(2);
    await waits(lab.observer, lab.path, 3);
    // The call has decided to wait by a count of 2, and looks for a deadlock before it watches the count. Meanwhile
    // another call reads a count of 3.
    const looks = (frame: Frame): boolean => answered('getChildren2')(frame) && frame.path === `${lab.path}/locks`;
    lab.proxy.clear();
    once(lab.proxy, looks, 'hold');
    await lab.proxy.seen(looks);
    await setCount(lab.other, count, 3);
    const raisedAt = lab.now();
    const third = semaphore.tryAcquire();
    await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === count);
    lab.proxy.speak();
    await returnAll(await both);
    expect(lab.now() - raisedAt).to.be.lessThan(1_000);
    expect(await third).to.equal(undefined);
  });

  it('that deletes the znodes of its waiter one after another counts the retries', async () => {
    const counts: number[] = [];
    const retryPolicy: RetryPolicy = {
      allowRetry: ({ retryCount }) => (counts.push(retryCount), { retry: true, sleepMs: 1 }),
    };
    const client = await lab.connect({ retryPolicy });
    const held = await semaphoreOf(lab.other, lab.path, 1).acquire();
    const waiting = semaphoreOf(client, lab.path, 1).acquire();
    for (let deletions = 0; deletions < 3; deletions += 1) {
      await waits(lab.observer, lab.path, 2);
      for (const name of await lab.observer.children(`${lab.path}/leases`)) {
        const path = `${lab.path}/leases/${name}`;
        if (path !== held.path) await lab.observer.remove(path);
      }
      await until('the retry policy is asked', () => counts.length > deletions);
    }
    await held.release();
    await (await waiting).release();
    expect(counts).to.deep.equal([0, 1, 2]);
  });

  it('that loses the reply to a lease’s create: the lease is searched by its uuid, and granted', async () => {
    await warmUp();
    lab.proxy.clear();
    const isOfNext = cutAtReply();
    const lease = await semaphoreOf(lab.client, lab.path, 2).acquire();
    expect(lease.isValid).to.equal(true);
    expect(await lab.observer.children(`${lab.path}/leases`)).to.deep.equal([
      lease.path.slice(`${lab.path}/leases/`.length),
    ]);
    const ops = lab.proxy.frames
      .filter((frame) => frame.from === 'client' && isOfNext(frame))
      .map(({ op, path: asked }) => `${op} ${asked ?? ''}`);
    const search = ops.indexOf(`getChildren2 ${lab.path}/leases`);
    expect(ops.slice(0, search)).to.include('multi /');
    await lease.release();
    await isEmpty(lab.observer, lab.path);
  });

  it('that loses the reply to a create whose caller gave up: lease and inner mutex are deleted', async () => {
    await warmUp();
    lab.proxy.clear();
    const controller = new AbortController();
    const isOfNext = cutAtReply();
    const acquiring = rejection(semaphoreOf(lab.client, lab.path, 2).acquire({ signal: controller.signal }));
    await lab.proxy.seen(ofLeases(answered('create2')));
    controller.abort(new Error('enough'));
    expect((await acquiring).message).to.equal('enough');
    await isEmpty(lab.observer, lab.path);
    const deleted = lab.proxy.frames
      .filter((frame) => sent('delete')(frame) && isOfNext(frame))
      .map((frame) => frame.path?.slice(lab.path.length + 1, lab.path.length + 6));
    expect(deleted, 'the lease is deleted first').to.deep.equal(['lease', 'locks']);
  });

  it('that loses the create of a lease: the lease is created again, with the same inner mutex', async () => {
    await warmUp();
    lab.proxy.clear();
    once(lab.proxy, ofLeases(sent('create2')), 'cut');
    await using _lease = await semaphoreOf(lab.client, lab.path, 2).acquire();
    await crowd(lab.observer, lab.path, { leases: 1, locks: 0 });
    expect(
      lab.proxy.frames.filter((frame) => sent('create2')(frame) && frame.path?.startsWith(`${lab.path}/locks`)),
    ).to.have.length(1);
  });

  for (const op of ['getChildren2', 'watch'] as const)
    it(`that loses the watch event of a waiter (${op}): the waiter is granted all the same`, async () => {
      const gate = await semaphoreOf(lab.other, lab.path, 1).acquire();
      // The third list sets the watch.
      let lists = 0;
      const isLost = (frame: Frame): boolean =>
        frame.from === 'server' &&
        frame.op === op &&
        frame.path === `${lab.path}/leases` &&
        (op === 'watch' || (lists += 1) === 2);
      once(lab.proxy, isLost, 'cut');
      const suspended = reached(lab.client, 'suspended');
      const waiting = semaphoreOf(lab.client, lab.path, 1).acquire();
      if (op === 'watch') {
        await waits(lab.observer, lab.path, 2);
        await until('the leases are watched', () =>
          lab.client.session.watches.paths('children').includes(`${lab.path}/leases`),
        );
        await lab.client.session.prove();
      } else {
        await suspended;
      }
      await gate.release();
      await suspended;
      await (await waiting).release();
      await isEmpty(lab.observer, lab.path);
    });

  it('that cuts the connection before the watch, after a missed change: the waiter is granted', async () => {
    const gate = await semaphoreOf(lab.other, lab.path, 1).acquire();
    const isOfLeases = (frame: Frame): boolean => frame.op === 'getChildren2' && frame.path === `${lab.path}/leases`;
    let releasedAt = 0;
    const changed = lab.proxy
      .seen((frame) => frame.from === 'server' && isOfLeases(frame))
      .then(async () => {
        await gate.release();
        releasedAt = lab.now();
        lab.proxy.clear();
        void lab.client.session.prove().catch(() => undefined);
        await lab.proxy.seen(answered('multi'));
      });
    once(lab.proxy, (frame) => frame.from === 'server' && isOfLeases(frame), { delayUntil: changed });
    const waiting = semaphoreOf(lab.client, lab.path, 1).acquire();
    await changed;
    once(lab.proxy, (frame) => frame.from === 'client' && isOfLeases(frame), 'cut');
    await (await waiting).release();
    // The question after a session timeout would find it as well.
    expect(lab.now() - releasedAt).to.be.lessThan(2_000);
    await isEmpty(lab.observer, lab.path);
  });

  const watchesLeases = (frame: Frame): boolean =>
    sent('getChildren2')(frame) && frame.path === `${lab.path}/leases` && frame.body.at(-1) === 1;

  it('that delays the watch behind a change: the waiter is granted at once', async () => {
    const gate = await semaphoreOf(lab.other, lab.path, 1).acquire();
    const changed = lab.proxy.seen(watchesLeases).then(() => gate.release());
    once(lab.proxy, watchesLeases, { delayUntil: changed });
    const waiting = semaphoreOf(lab.client, lab.path, 1).acquire();
    await changed;
    const releasedAt = lab.now();
    await (await waiting).release();
    expect(lab.now() - releasedAt).to.be.lessThan(2_000);
    await isEmpty(lab.observer, lab.path);
  });

  it('that loses the answer to the watch on a shared count, after a missed change: the waiter is granted at once', async () => {
    const count = testPath('count');
    await lab.observer.create(count.slice(0, -'/count'.length));
    await lab.observer.create(count);
    await setCount(lab.other, count, 1);
    const semaphore = new InterProcessSemaphore(lab.client, lab.path, { sharedCount: count });
    const first = await semaphore.acquire();
    // The leases are watched right before the count. Their answer shows the client a transaction after the change.
    const raised = lab.proxy.seen(watchesLeases).then(() => setCount(lab.other, count, 2));
    once(lab.proxy, watchesLeases, { delayUntil: raised });
    const waiting = semaphore.acquire();
    await raised;
    const raisedAt = lab.now();
    once(lab.proxy, (frame) => answered('getData')(frame) && frame.path === count, 'cut');
    await returnAll([first, await waiting]);
    expect(lab.now() - raisedAt).to.be.lessThan(2_000);
  });

  describe('while a call lists the leases:', () => {
    const isOf = (op: Frame['op'], path: string) => (frame: Frame) => frame.op === op && frame.path === path;
    const leasesPath = (): string => `${lab.path}/leases`;

    /** Deletes the znode before the next list of the leases, and tells the client of it before the list. */
    const deleteBeforeList = async (znode: string): Promise<void> => {
      await until('the znode is watched', () => lab.client.session.watches.paths('data').includes(znode));
      await lab.client.session.prove();
      const told = lab.proxy.seen((frame) => frame.from === 'server' && isOf('watch', znode)(frame));
      once(
        lab.proxy,
        (frame) => sent('getChildren2')(frame) && frame.path === leasesPath(),
        () => {
          void lab.observer.remove(znode);
          return { delayUntil: told };
        },
      );
    };

    it('a lost lease makes the call start over, although the list grants its last one', async () => {
      const gate = await semaphoreOf(lab.other, lab.path, 2).acquire();
      const waiting = semaphoreOf(lab.client, lab.path, 2).acquireMany(2);
      await waits(lab.observer, lab.path, 3);
      const [, first] = await semaphoreOf(lab.other, lab.path, 3).participants();
      const held = first?.path ?? '';
      await deleteBeforeList(held);
      await gate.release();
      const leases = await waiting;
      expect(leases.map(({ isValid }) => isValid)).to.deep.equal([true, true]);
      expect(leases.map(({ path }) => path)).to.not.include(held);
      await returnAll(leases);
    });

    it('a lost turn makes the call give its leases back, so that the next call gets one', async () => {
      const gate = await semaphoreOf(lab.other, lab.path, 2).acquire();
      const waiting = semaphoreOf(lab.client, lab.path, 2).acquireMany(2);
      await waits(lab.observer, lab.path, 3);
      const [turn = ''] = await lab.observer.children(`${lab.path}/locks`);
      const next = semaphoreOf(lab.other, lab.path, 2).acquire({ timeoutMs: 10_000 });
      await crowd(lab.observer, lab.path, { leases: 3, locks: 2 });
      await deleteBeforeList(`${lab.path}/locks/${turn}`);
      const java = `${leasesPath()}/_c_9d3a40af-0a1b-4c2d-8e3f-405162738495-lease-`;
      const { value } = await lab.other.session.request(createSequential(java, new Uint8Array(0), openAcl));
      await lab.observer.remove(value.path);
      const theirs = await next;
      await returnAll([gate, theirs]);
      await returnAll(await waiting);
    });
  });

  it('that takes a lease by force from a call that waits for the next one: the call releases it, and starts over', async () => {
    const gate = await semaphoreOf(lab.other, lab.path, 2).acquire();
    const waiting = semaphoreOf(lab.client, lab.path, 2).acquireMany(2);
    await waits(lab.observer, lab.path, 3);
    const [, first] = await semaphoreOf(lab.other, lab.path, 3).participants();
    expect(await forceRelease(lab.other, first?.path ?? '', { timeoutMs: 10_000 })).to.equal('released');
    await waits(lab.observer, lab.path, 3);
    await gate.release();
    const leases = await waiting;
    expect(leases.map(({ isValid }) => isValid)).to.deep.equal([true, true]);
    await returnAll(leases);
  });

  it('that cuts the connection while a shared count grows: the waiter is granted afterwards', async () => {
    const count = testPath('count');
    await lab.observer.create(count.slice(0, -'/count'.length));
    await lab.observer.create(count);
    await setCount(lab.other, count, 1);
    const semaphore = new InterProcessSemaphore(lab.client, lab.path, { sharedCount: count });
    const first = await semaphore.acquire();
    const waiting = semaphore.acquire();
    await waits(lab.observer, lab.path, 2);
    await until('the shared count is watched', () => lab.client.session.watches.paths('data').includes(count));
    await lab.disconnect();
    await setCount(lab.other, count, 2);
    await lab.proxy.accept();
    await returnAll([first, await waiting]);
  });

  it('that ends the session: leases are lost, the waiter starts over, and the lost leases are free', async () => {
    const neverAgain = { allowRetry: () => ({ retry: false }) as const };
    const client = await lab.connect({ sessionTimeoutMs: 4_000, retryPolicy: neverAgain });
    const semaphore = semaphoreOf(client, lab.path, 2);
    const leases = await semaphore.acquireMany(2);
    const waiting = semaphore.acquire();
    await waits(lab.observer, lab.path, 3);
    const losses = leases.map((lease) => aborted(lease.signal));
    await lab.endSession(client);
    for (const reason of await Promise.all(losses))
      expect(reason).to.be.instanceOf(LockLostError).with.property('reason', 'session-expired');
    await using next = await waiting;
    expect([...leases, next].map(({ isValid }) => isValid)).to.deep.equal([false, false, true]);
    expect((await semaphore.participants()).map((participant) => participant.path)).to.deep.equal([next.path]);
    expect(await Promise.all(leases.map((lease) => lease.release()))).to.deep.equal(['lost', 'lost']);
    expect(next.isValid).to.equal(true);
  });

  it('that silences the server: the hold is lost before another client gets the lease', async () => {
    const lease = await semaphoreOf(lab.client, lab.path, 1).acquire();
    let isAborted = false;
    void aborted(lease.signal).then(() => (isAborted = true));
    const waiting = semaphoreOf(lab.other, lab.path, 1).acquire();
    await waits(lab.observer, lab.path, 2);
    lab.proxy.silence();
    await using _next = await waiting;
    expect(isAborted).to.equal(true);
    expect(await lease.release()).to.equal('lost');
    lab.proxy.speak();
  });

  it('that closes the client: waiters are rejected, and no znode stays', async () => {
    const semaphore = semaphoreOf(lab.client, lab.path, 1);
    const lease = await semaphore.acquire();
    const waiting = [rejection(semaphore.acquire()), rejection(semaphore.acquireMany(1))];
    await crowd(lab.observer, lab.path, { leases: 2, locks: 2 });
    const loss = aborted(lease.signal);
    await lab.client.close();
    for (const error of await Promise.all(waiting)) expect(error).to.have.property('code', 'ERR_LOCK_CLIENT_CLOSED');
    expect(await loss).to.have.property('reason', 'client-closed');
    await isEmpty(lab.observer, lab.path);
    expect((await rejection(semaphore.acquire())).code).to.equal('ERR_LOCK_CLIENT_CLOSED');
  });

  it('that outlasts the timeout: it settles at once, and its znodes are deleted after the reconnect', async () => {
    await using _lease = await semaphoreOf(lab.other, lab.path, 1).acquire();
    const waiting = rejection(semaphoreOf(lab.client, lab.path, 1).acquire({ timeoutMs: 1_500 }));
    await waits(lab.observer, lab.path, 2);
    await lab.proxy.refuse();
    lab.proxy.cut();
    expect((await waiting).code).to.equal('ERR_LOCK_TIMEOUT');
    await lab.proxy.accept();
    await crowd(lab.observer, lab.path, { leases: 1, locks: 0 });
  });
});
