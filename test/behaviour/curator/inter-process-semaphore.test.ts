import { expect } from 'chai';
import { InterProcessSemaphore, LockClient, type Hold } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { connectObserver } from '../../../lab/wire/observer.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection, until } from '../../../lab/until.ts';
import { startProxy } from '../../../lab/proxy/zk-proxy.ts';
import { crowd, isEmpty, returnAll, semaphoreOf, setCount, waits } from '../../../lab/semaphores.ts';
import { answered, once } from '../../../lab/proxy/frame-matches.ts';
import { gate } from '../../../lab/gate.ts';
import { reached } from '../../../lab/reached.ts';

const longTimeout = { timeoutMs: 10_000 };

describe('TestInterProcessSemaphore', () => {
  const lab = labOfEachTest('semaphore', { server: 'own', client: { sessionTimeoutMs: 10_000 } });

  const clients = (quantity: number): Promise<LockClient[]> =>
    Promise.all(Array.from({ length: quantity }, () => LockClient.connect(lab.server.connectString)));

  it('testAcquireAfterLostServer: ten owners go on after a lost session', async () => {
    await using proxy = await startProxy(lab.server.port);
    await using lossy = await LockClient.connect(proxy.connectString, { sessionTimeoutMs: 2_000 });
    let acquired = 0;
    let isOver = false;
    const owner = async (): Promise<void> => {
      while (!isOver) {
        const lease = await semaphoreOf(lossy, lab.path, 1).acquire();
        acquired += 1;
        await lease.release();
      }
    };
    const owners = Array.from({ length: 10 }, owner);
    await until('each owner had a lease', () => acquired >= 20);
    const lost = reached(lossy, 'lost');
    proxy.clear();
    once(proxy, (frame) => answered('getChildren2')(frame) && frame.path === `${lab.path}/leases`, 'hold');
    await proxy.seen((frame) => answered('getChildren2')(frame) && frame.path === `${lab.path}/leases`);
    await lab.server.kill();
    await lost;
    proxy.cut();
    const again = reached(lossy, 'reconnected');
    const before = acquired;
    await lab.server.start();
    await again;
    await until('all owners acquire again', () => acquired >= before + 20);
    isOver = true;
    await Promise.all(owners);
    await using back = await connectObserver(lab.server.connectString);
    await isEmpty(back, lab.path);
  });

  it('testThreadedLeaseIncrease: a waiter is granted when the shared count grows', async () => {
    const count = testPath('count');
    await lab.observer.create(count.slice(0, -'/count'.length));
    await lab.observer.create(count);
    await setCount(lab.client, count, 1);
    const semaphore = new InterProcessSemaphore(lab.client, lab.path, { sharedCount: count });
    const first = await semaphore.acquire(longTimeout);
    const waiting = semaphore.acquire(longTimeout);
    await waits(lab.observer, lab.path, 2);
    await setCount(lab.client, count, 2);
    await returnAll([first, await waiting]);
  });

  it('testClientClose: the leases of a closed client are free', async () => {
    await using other = await LockClient.connect(lab.server.connectString);
    const theirs = semaphoreOf(other, lab.path, 1);
    await (await theirs.acquire(longTimeout)).release();
    const lease = await semaphoreOf(lab.client, lab.path, 1).acquire(longTimeout);
    await lab.client.close();
    expect(lease.isValid).to.equal(false);
    await (await theirs.acquire(longTimeout)).release();
  });

  it('testMaxPerSession: ten clients that take random numbers never exceed the maximum', async () => {
    const max = 25 + Math.floor(Math.random() * 75);
    let available = max;
    let inside = 0;
    let most = 0;
    const owner = async (mine: LockClient): Promise<void> => {
      const semaphore = semaphoreOf(mine, lab.path, max);
      for (let round = 0; round < 10; round += 1) {
        while (available === 0) await until('some leases are left', () => available > 0);
        const quantity = 1 + Math.floor(Math.random() * available);
        available -= quantity;
        const leases = await semaphore.acquireMany(quantity, { timeoutMs: 15_000 });
        expect(leases).to.have.length(quantity);
        inside += quantity;
        most = Math.max(most, inside);
        await semaphore.participants();
        inside -= quantity;
        await returnAll(leases);
        available += quantity;
      }
    };
    const all = await clients(10);
    await Promise.all(all.map(owner));
    await Promise.all(all.map((each) => each.close()));
    expect(inside).to.equal(0);
    expect(most).to.be.within(1, max);
  });

  it('testRelease1AtATime: five of ten clients are inside at once, and all get in', async () => {
    let inside = 0;
    let most = 0;
    let uses = 0;
    const owner = async (mine: LockClient): Promise<void> => {
      const lease = await semaphoreOf(mine, lab.path, 5).acquire(longTimeout);
      uses += 1;
      most = Math.max(most, (inside += 1));
      await until('five are inside', () => most >= 5);
      inside -= 1;
      await lease.release();
    };
    const all = await clients(10);
    await Promise.all(all.map(owner));
    await Promise.all(all.map((each) => each.close()));
    expect([uses, most]).to.deep.equal([10, 5]);
  });

  it('testReleaseInChunks: a hundred users never exceed eleven leases', async () => {
    const gates = Array.from({ length: 100 }, gate);
    let inside = 0;
    let most = 0;
    let done = 0;
    const user = async (number: number): Promise<void> => {
      const lease = await semaphoreOf(lab.client, lab.path, 11).acquire({ timeoutMs: 15_000 });
      most = Math.max(most, (inside += 1));
      await gates[number]?.opened;
      inside -= 1;
      await lease.release();
      done += 1;
    };
    const users = gates.map((_, number) => user(number));
    for (let opened = 0; opened < 100;) {
      const chunk = Math.min(100 - opened, 1 + Math.floor(Math.random() * 5));
      for (const { open } of gates.slice(opened, opened + chunk)) open();
      opened += chunk;
      await until('the users have released', () => done >= opened);
    }
    await Promise.all(users);
    expect(inside).to.equal(0);
    expect(most).to.be.within(1, 11);
    await isEmpty(lab.observer, lab.path);
  });

  it('testThreads: ten owners share one lease, and all finish', async () => {
    const semaphore = semaphoreOf(lab.client, lab.path, 1);
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, async () => (await semaphore.acquire(longTimeout)).release()),
    );
    expect(outcomes).to.deep.equal(Array.from({ length: 10 }, () => 'released'));
  });

  it('testSimple: there is no second lease if the maximum is one', async () => {
    const semaphore = semaphoreOf(lab.client, lab.path, 1);
    const lease = await semaphore.acquire(longTimeout);
    expect(await semaphore.tryAcquire(200)).to.equal(undefined);
    await lease.release();
  });

  it('testSimple2: four semaphores share three leases, and a returned lease is available again', async () => {
    const leases: Hold[] = [];
    for (let number = 0; number < 3; number += 1)
      leases.push(await semaphoreOf(lab.client, lab.path, 3).acquire(longTimeout));
    const semaphore = semaphoreOf(lab.client, lab.path, 3);
    expect(await semaphore.tryAcquire(200)).to.equal(undefined);
    await leases.shift()?.release();
    leases.push(await semaphore.acquire(longTimeout));
    await returnAll(leases);
  });

  it('testGetParticipantNodes: there is one participant per lease', async () => {
    const semaphore = semaphoreOf(lab.client, lab.path, 3);
    const leases = [await semaphore.acquire(), await semaphore.acquire(), await semaphore.acquire()];
    const participants = await semaphore.participants();
    expect(participants.map((participant) => participant.path)).to.deep.equal(leases.map((lease) => lease.path));
    expect(participants.map(({ sequence }) => sequence)).to.deep.equal([0, 1, 2]);
    await returnAll(leases);
  });

  it('testNoOrphanedNodes: a waiter whose znode is deleted tries again and leaves none', async () => {
    const semaphore = semaphoreOf(lab.client, lab.path, 1);
    const lease = await semaphore.acquire(longTimeout);
    const held = await lab.observer.children(`${lab.path}/leases`);
    expect(held).to.have.length(1);
    const waiting = semaphore.acquire(longTimeout);
    await waits(lab.observer, lab.path, 2);
    const [newest] = (await lab.observer.children(`${lab.path}/leases`)).filter((name) => !held.includes(name));
    await lab.observer.remove(`${lab.path}/leases/${newest ?? ''}`);
    await until('the waiter is queued again', async () =>
      (await lab.observer.children(`${lab.path}/leases`)).some((name) => name !== newest && !held.includes(name)),
    );
    await lease.release();
    await (await waiting).release();
    await isEmpty(lab.observer, lab.path);
    await (await semaphore.acquire(longTimeout)).release();
  });

  it('testInterruptAcquire: an interrupted waiter leaves no znode', async () => {
    const lease = await semaphoreOf(lab.client, lab.path, 1).acquire(longTimeout);
    const controller = new AbortController();
    const interrupted = rejection(semaphoreOf(lab.client, lab.path, 1).acquire({ signal: controller.signal }));
    await waits(lab.observer, lab.path, 2);
    controller.abort(new Error('interrupted'));
    expect((await interrupted).message).to.equal('interrupted');
    await crowd(lab.observer, lab.path, { leases: 1, locks: 0 });
    await lease.release();
    await (await semaphoreOf(lab.client, lab.path, 1).acquire(longTimeout)).release();
  });
});
