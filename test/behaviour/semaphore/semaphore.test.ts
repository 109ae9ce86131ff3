import { expect } from 'chai';
import {
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LeaderElection,
  LockLostError,
  type Hold,
} from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { crowd, isEmpty, returnAll, semaphoreOf, waits } from '../../../lab/semaphores.ts';

describe('a semaphore', () => {
  const lab = labOfEachTest('semaphore');

  it('has Curator’s layout: a mutex at locks, released with the grant, and a znode per lease', async () => {
    const semaphore = semaphoreOf(lab.client, lab.path, 2);
    const leases = [await semaphore.acquire(), await semaphore.acquire()];
    for (const lease of leases)
      expect(lease.path).to.match(new RegExp(`^${lab.path}/leases/_c_[0-9a-f-]{36}-lease-\\d{10}$`));
    expect((await semaphore.participants()).map(({ path }) => path)).to.deep.equal(leases.map(({ path }) => path));
    await crowd(lab.observer, lab.path, { leases: 2, locks: 0 });
    await returnAll(leases);
    expect(await lab.observer.children(`${lab.path}/leases`)).to.deep.equal([]);
  });

  it('keeps all that it is made of to itself, as the other locks do, so a subclass may have fields of any name', () => {
    const locks = [
      semaphoreOf(lab.client, lab.path, 2),
      new InterProcessSemaphoreMutex(lab.client, lab.path),
      new InterProcessMutex(lab.client, lab.path),
      new LeaderElection(lab.client, lab.path),
      new InterProcessMultiLock([new InterProcessMutex(lab.client, lab.path)]),
    ];
    for (const lock of locks) expect(Object.keys(lock), lock.constructor.name).to.deep.equal([]);
  });

  it('never lets more than its maximum in, with eight owners in two clients', async () => {
    let inside = 0;
    const most: number[] = [];
    const job = async (semaphore: InterProcessSemaphore): Promise<void> => {
      for (let round = 0; round < 5; round += 1) {
        const lease = await semaphore.acquire();
        most.push((inside += 1));
        await until('three owners are inside', () => Math.max(...most) >= 3);
        await semaphore.participants();
        expect(lease.isValid).to.equal(true);
        inside -= 1;
        await lease.release();
      }
    };
    await Promise.all(
      Array.from({ length: 8 }, (_, owner) => job(semaphoreOf(owner % 2 ? lab.client : lab.other, lab.path, 3))),
    );
    expect(Math.max(...most)).to.equal(3);
    expect(most).to.have.length(40);
    await isEmpty(lab.observer, lab.path);
  });

  it('grants in the order of the acquires, of one client and of two', async () => {
    const gate = await semaphoreOf(lab.client, lab.path, 1).acquire();
    const order: number[] = [];
    const owners: Promise<void>[] = [];
    for (let owner = 0; owner < 6; owner += 1) {
      const semaphore = semaphoreOf(owner % 3 ? lab.client : lab.other, lab.path, 1);
      const waiting = semaphore.acquire().then(async (lease) => {
        order.push(owner);
        await lease.release();
      });
      owners.push(waiting);
      await crowd(lab.observer, lab.path, { leases: 2, locks: owner + 1 });
    }
    await gate.release();
    await Promise.all(owners);
    expect(order).to.deep.equal([0, 1, 2, 3, 4, 5]);
  });

  it('wakes a waiter when any lease is released, not only the oldest', async () => {
    const semaphore = semaphoreOf(lab.client, lab.path, 3);
    const leases = await Promise.all([semaphore.acquire(), semaphore.acquire(), semaphore.acquire()]);
    const waiting = semaphoreOf(lab.other, lab.path, 3).acquire();
    await waits(lab.observer, lab.path, 4);
    const [, , newest] = leases.sort((a, b) => (a.fencingToken < b.fencingToken ? -1 : 1));
    await newest.release();
    const next = await waiting;
    await returnAll([...leases, next]);
  });

  it('settles at once when the time is over, releases the inner mutex and leaves no znode', async () => {
    const semaphore = semaphoreOf(lab.client, lab.path, 1);
    const gate = await semaphore.acquire();
    const late = rejection(semaphore.acquire({ timeoutMs: 1_000 }));
    // The call holds the inner mutex, and has a znode among the leases.
    await waits(lab.observer, lab.path, 2);
    const theirs = semaphoreOf(lab.other, lab.path, 1).acquire();
    expect((await late).code).to.equal('ERR_LOCK_TIMEOUT');
    await waits(lab.observer, lab.path, 2);
    await gate.release();
    await (await theirs).release();
    await isEmpty(lab.observer, lab.path);
  });

  it('rejects with the reason of a signal, for a waiter of a lease and for one behind it', async () => {
    const semaphore = semaphoreOf(lab.client, lab.path, 1);
    await using _gate = await semaphore.acquire();
    const controller = new AbortController();
    const reason = new Error('enough');
    const first = rejection(semaphore.acquire({ signal: controller.signal }));
    await waits(lab.observer, lab.path, 2);
    const second = rejection(semaphore.acquire({ signal: controller.signal }));
    await crowd(lab.observer, lab.path, { leases: 2, locks: 2 });
    controller.abort(reason);
    expect(await Promise.all([first, second])).to.deep.equal([reason, reason]);
    await crowd(lab.observer, lab.path, { leases: 1, locks: 0 });
  });

  it('deletes the lease of a waiter that gives up before it releases the inner mutex', async () => {
    const semaphore = semaphoreOf(lab.client, lab.path, 1);
    const gate = await semaphore.acquire();
    const controller = new AbortController();
    const first = rejection(semaphore.acquire({ signal: controller.signal }));
    await waits(lab.observer, lab.path, 2);
    let most = 0;
    const second = semaphore.acquire();
    await crowd(lab.observer, lab.path, { leases: 2, locks: 2 });
    controller.abort();
    await first;
    await until('only the second acquire is left', async () => {
      most = Math.max(most, (await lab.observer.children(`${lab.path}/leases`)).length);
      return (await lab.observer.children(`${lab.path}/locks`)).length === 1;
    });
    await waits(lab.observer, lab.path, 2);
    expect(most).to.be.at.most(2);
    await gate.release();
    await (await second).release();
  });

  describe('tryAcquire', () => {
    it('gets one free lease after another, and then none', async () => {
      const semaphore = semaphoreOf(lab.client, lab.path, 3);
      await (await semaphore.acquire()).release();
      const tries: (Hold | undefined)[] = [];
      for (let count = 1; count <= 3; count += 1) {
        tries.push(await semaphore.tryAcquire());
        await crowd(lab.observer, lab.path, { leases: count, locks: 0 });
      }
      expect(tries.every((lease) => lease?.isValid)).to.equal(true);
      expect(await semaphore.tryAcquire()).to.equal(undefined);
      await returnAll(tries);
      await isEmpty(lab.observer, lab.path);
    });

    it('gets as many leases as are free for concurrent calls, and none for the others', async () => {
      const semaphore = semaphoreOf(lab.client, lab.path, 5);
      const tries = await Promise.all(Array.from({ length: 7 }, () => semaphore.tryAcquire()));
      expect(tries.map((lease) => lease?.isValid)).to.deep.equal([true, true, true, true, true, undefined, undefined]);
      await returnAll(tries);
      await isEmpty(lab.observer, lab.path);
    });

    it('gets a lease for the first of concurrent calls, and leaves no znode of the others', async () => {
      const tries = await Promise.all(
        [lab.client, lab.client, lab.other].map((client) => semaphoreOf(client, lab.path, 3).tryAcquire()),
      );
      const leases = tries.filter((lease) => lease !== undefined);
      expect(leases).to.have.length.greaterThan(0);
      await crowd(lab.observer, lab.path, { leases: leases.length, locks: 0 });
      await returnAll(leases);
      await isEmpty(lab.observer, lab.path);
    });

    it('writes nothing if no lease is free', async () => {
      const semaphore = semaphoreOf(lab.client, lab.path, 1);
      const gate = await semaphore.acquire();
      expect(await semaphore.tryAcquire()).to.equal(undefined);
      await gate.release();
      const next = await semaphore.tryAcquire();
      expect(next?.path.slice(-10)).to.equal('0000000001');
      await next?.release();
    });

    it('does not overtake a waiter', async () => {
      const gate = await semaphoreOf(lab.client, lab.path, 1).acquire();
      const waiting = semaphoreOf(lab.other, lab.path, 1).acquire();
      await waits(lab.observer, lab.path, 2);
      const trying = semaphoreOf(lab.client, lab.path, 1);
      const [lease] = await Promise.all([trying.tryAcquire(), gate.release()]);
      expect(lease).to.equal(undefined);
      await (await waiting).release();
    });

    it('waits for the given time', async () => {
      const semaphore = semaphoreOf(lab.client, lab.path, 1);
      const gate = await semaphore.acquire();
      expect(await semaphore.tryAcquire(50)).to.equal(undefined);
      const waiting = semaphore.tryAcquire(10_000);
      await waits(lab.observer, lab.path, 2);
      await gate.release();
      const lease = await waiting;
      expect(lease?.isValid).to.equal(true);
      await lease?.release();
    });

    it('equals acquire with a timeout of 0, which throws', async () => {
      const semaphore = semaphoreOf(lab.client, lab.path, 1);
      await using _gate = await semaphore.acquire({ timeoutMs: 0 });
      expect((await rejection(semaphore.acquire({ timeoutMs: 0 }))).code).to.equal('ERR_LOCK_TIMEOUT');
    });
  });

  describe('acquireMany', () => {
    it('acquires all leases, each as its own hold', async () => {
      const semaphore = semaphoreOf(lab.client, lab.path, 3);
      const leases = await semaphore.acquireMany(3);
      expect(new Set(leases.map(({ path }) => path)).size).to.equal(3);
      const [first] = leases as [Hold];
      await first.release();
      expect(leases.map(({ isValid }) => isValid)).to.deep.equal([false, true, true]);
      await (await semaphore.acquire({ timeoutMs: 5_000 })).release();
      await returnAll(leases);
    });

    it('gives back what it has when the time is over', async () => {
      await using _gate = await semaphoreOf(lab.other, lab.path, 3).acquire();
      const semaphore = semaphoreOf(lab.client, lab.path, 3);
      expect((await rejection(semaphore.acquireMany(3, { timeoutMs: 200 }))).code).to.equal('ERR_LOCK_TIMEOUT');
      await crowd(lab.observer, lab.path, { leases: 1, locks: 0 });
      expect((await rejection(semaphore.acquireMany(3, { timeoutMs: 0 }))).code).to.equal('ERR_LOCK_TIMEOUT');
      await crowd(lab.observer, lab.path, { leases: 1, locks: 0 });
    });

    it('serves callers that want all leases one after the other: none keeps a part', async () => {
      const job = async (semaphore: InterProcessSemaphore): Promise<void> => {
        for (let round = 0; round < 5; round += 1)
          await returnAll(await semaphore.acquireMany(2, { timeoutMs: 10_000 }));
      };
      await Promise.all([lab.client, lab.client, lab.other].map((client) => job(semaphoreOf(client, lab.path, 2))));
      await isEmpty(lab.observer, lab.path);
    });

    it('starts over if one of its leases is deleted while it waits for the rest', async () => {
      const gate = await semaphoreOf(lab.other, lab.path, 2).acquire();
      const semaphore = semaphoreOf(lab.client, lab.path, 2);
      const waiting = semaphore.acquireMany(2, { timeoutMs: 10_000 });
      await waits(lab.observer, lab.path, 3);
      const [, taken, waiter] = await semaphore.participants();
      await until('the lease is watched', () => lab.client.session.watches.paths('data').includes(taken?.path ?? ''));
      await semaphore.participants();
      await lab.observer.remove(taken?.path ?? '');
      await until('both leases have other znodes', async () => {
        const now = (await semaphore.participants()).map(({ path }) => path);
        return now.length === 3 && !now.includes(waiter?.path ?? '');
      });
      await gate.release();
      const leases = await waiting;
      expect(leases.map(({ isValid }) => isValid)).to.deep.equal([true, true]);
      await returnAll(leases);
      await isEmpty(lab.observer, lab.path);
    });
  });

  describe('a lease', () => {
    it('is lost alone when its znode is deleted, and its signal aborts', async () => {
      const [mine, taken] = (await semaphoreOf(lab.client, lab.path, 2).acquireMany(2)) as [Hold, Hold];
      const loss = aborted(taken.signal);
      await lab.observer.remove(taken.path);
      const reason = await loss;
      expect(reason).to.be.instanceOf(LockLostError).with.property('reason', 'node-deleted');
      expect([mine.isValid, taken.isValid]).to.deep.equal([true, false]);
      expect(() => taken.assertValid()).to.throw(LockLostError);
      expect(await taken.release()).to.equal('lost');
      expect(await mine.release()).to.equal('released');
    });

    it('is released once, by a dispose or a release', async () => {
      const semaphore = semaphoreOf(lab.client, lab.path, 1);
      {
        await using lease = await semaphore.acquire();
        expect(lease.isValid).to.equal(true);
      }
      const lease = await semaphore.acquire({ timeoutMs: 5_000 });
      expect(lease.release()).to.equal(lease.release());
      expect(await lease.release()).to.equal('released');
      expect(() => lease.assertValid())
        .to.throw()
        .with.property('code', 'ERR_LOCK_NOT_OWNED');
    });
  });

  it('whose inner mutex is deleted starts over, and gets its lease', async () => {
    const semaphore = semaphoreOf(lab.client, lab.path, 1);
    const gate = await semaphore.acquire();
    const waiting = semaphore.acquire({ timeoutMs: 10_000 });
    await waits(lab.observer, lab.path, 2);
    const [, before] = await semaphore.participants();
    const [turn] = await lab.observer.children(`${lab.path}/locks`);
    await lab.observer.remove(`${lab.path}/locks/${turn ?? ''}`);
    await until('the waiter has another znode', async () => {
      const [, now] = await semaphore.participants();
      return now !== undefined && now.path !== before?.path;
    });
    await gate.release();
    await (await waiting).release();
    await isEmpty(lab.observer, lab.path);
  });
});
