import { expect } from 'chai';
import {
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LockLostError,
  type PartHold,
} from '../../../src/index.ts';
import { gate } from '../../../lab/gate.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { isEmpty } from '../../../lab/semaphores.ts';
import { codeMs } from '../../../lab/world.ts';

const expired = { code: 'ERR_LOCK_LOST', reason: 'lease-expired' };
const never = new Promise<never>(() => undefined);

describe('the leaseMs', () => {
  const lab = labOfEachTest('lease-of-others');

  it('of a read lock lets a waiting writer in, and of a write lock a waiting reader', async () => {
    const ours = new InterProcessReadWriteLock(lab.client, lab.path);
    const theirs = new InterProcessReadWriteLock(lab.other, lab.path);
    const [readers, writers] = [gate(), gate()];
    const reading = rejection(ours.readLock.withLock(() => (readers.open(), never), { leaseMs: 200 }));
    await readers.opened;
    await (await theirs.writeLock.acquire()).release();
    expect(await reading).to.include(expired);
    const writing = rejection(ours.writeLock.withLock(() => (writers.open(), never), { leaseMs: 200 }));
    await writers.opened;
    await (await theirs.readLock.acquire()).release();
    expect(await writing).to.include(expired);
  });

  it('of a semaphore applies to each of its leases, and returns them', async () => {
    const ours = new InterProcessSemaphore(lab.client, lab.path, { maxLeases: 2 });
    const theirs = new InterProcessSemaphore(lab.other, lab.path, { maxLeases: 2 });
    const [first, second] = await ours.acquireMany(2, { leaseMs: 300 });
    second?.renew(600_000);
    await (await theirs.acquire()).release();
    expect([first?.isValid, second?.isValid]).to.deep.equal([false, true]);
    expect(first?.signal.reason).to.include(expired);
    expect([await first?.release(), await second?.release()]).to.deep.equal(['lost', 'released']);
    await isEmpty(lab.observer, lab.path);
    // A lost lease counts as returned in this client, too.
    expect(
      await new InterProcessSemaphore(lab.client, lab.path, { maxLeases: 5 }).tryAcquire({ leaseMs: 600_000 }),
    ).to.not.equal(undefined);
  });

  it('of a semaphore mutex ends the wait of other clients, and its own withLock', async () => {
    const ours = new InterProcessSemaphoreMutex(lab.client, lab.path);
    const entered = gate();
    const hung = rejection(ours.withLock(() => (entered.open(), never), { leaseMs: 300 }));
    await entered.opened;
    await (await new InterProcessSemaphoreMutex(lab.other, lab.path).acquire()).release();
    expect(await hung)
      .to.be.instanceOf(LockLostError)
      .and.to.include(expired);
    for (const acquire of [
      () => ours.acquire({ data: Buffer.from('worker 7') }),
      () => ours.tryAcquire({ data: Buffer.from('worker 7') }),
    ]) {
      const hold = await acquire();
      expect((await ours.participants()).map(({ data }) => data.toString())).to.deep.equal(['worker 7']);
      await hold?.release();
    }
  });

  describe('of a multi-lock', () => {
    const mutexes = (): InterProcessMutex[] =>
      ['a', 'b'].map((name) => new InterProcessMutex(lab.client, `${lab.path}/${name}`));
    const free = (): Promise<void> =>
      until(
        'both locks are free',
        async () =>
          (await Promise.all(['a', 'b'].map((name) => lab.observer.children(`${lab.path}/${name}`)))).flat().length ===
          0,
      );

    it('is one time limit for all locks, and begins when all are held', async () => {
      const [mutexA, mutexB] = mutexes() as [InterProcessMutex, InterProcessMutex];
      const blocker = await mutexB.acquire();
      const hung = rejection(new InterProcessMultiLock([mutexA, mutexB]).withLock(() => never, { leaseMs: 200 }));
      await until('the multi-lock waits', async () => (await mutexB.participants()).length === 2);
      // Longer than the lease, which must not have begun.
      await lab.sleep(250);
      expect(mutexA.isAcquiredInThisProcess).to.equal(true);
      await blocker.release();
      expect(await hung)
        .to.be.instanceOf(LockLostError)
        .and.to.include(expired);
      await free();
    });

    it('that ends after one of the locks was lost leaves the reason as it was', async () => {
      const hold = await new InterProcessMultiLock(mutexes()).acquire({ leaseMs: 500 });
      const loss = aborted(hold.signal);
      await lab.observer.remove(hold.holds[0]?.path ?? '');
      const reason = await loss;
      expect(reason).to.include({ reason: 'node-deleted' });
      await lab.sleep(1_000);
      expect(hold.toJSON()).to.include({ state: 'lost', reason: 'node-deleted' });
      expect(() => hold.assertValid())
        .to.throw()
        .that.equals(reason);
      expect(await hold.release()).to.equal('lost');
      await free();
    });

    it('aborts the signal and those of all holds, and is renewed as one', async () => {
      const hold = await new InterProcessMultiLock(mutexes()).acquire({ leaseMs: 600_000, data: Buffer.from('both') });
      const [holder] = await (mutexes()[0] as InterProcessMutex).participants();
      expect(holder?.data.toString()).to.equal('both');
      const signals = [hold.signal, ...hold.holds.map(({ signal }) => signal)];
      expect(hold.remainingMs).to.be.closeTo(Math.min(...hold.holds.map(({ remainingMs }) => remainingMs)), codeMs);
      expect(() => hold.renew('100' as never)).to.throw(TypeError, 'leaseMs');
      expect(() => hold.renew(0)).to.throw(RangeError, 'leaseMs');
      hold.renew(100);
      expect(hold.remainingMs).to.be.closeTo(100, codeMs);
      for (const signal of signals)
        expect(await aborted(signal))
          .to.be.instanceOf(LockLostError)
          .and.to.include(expired);
      expect([hold.isValid, hold.remainingMs]).to.deep.equal([false, 0]);
      expect(hold.toJSON()).to.include({ state: 'lost', reason: 'lease-expired' });
      expect(() => hold.renew(100)).to.throw(LockLostError);
      expect(await hold.release()).to.equal('lost');
      await free();
    });

    it('emits an event of one lock for each renewal, and not of a lock that was lost', async () => {
      const [first, second] = mutexes() as [InterProcessMutex, InterProcessMutex];
      const renewed: string[] = [];
      for (const mutex of [first, second]) mutex.on('renewed', ({ hold: { path } }) => renewed.push(path));
      const hold = await new InterProcessMultiLock([first, second]).acquire({ leaseMs: 1_000, renewEveryMs: 100 });
      const [ofFirst, ofSecond] = hold.holds.map(({ path }) => path);
      hold.renew(1_000);
      await until('the lease has renewed itself', () => renewed.length > 1);
      expect(new Set(renewed)).to.deep.equal(new Set([ofFirst]));
      const loss = aborted(hold.signal);
      await lab.observer.remove(ofFirst ?? '');
      await loss;
      await until('the lease goes on', () => renewed.includes(ofSecond ?? ''));
      await hold.release();
    });

    it('begins with the first renewal if there was none', async () => {
      const hold = await new InterProcessMultiLock(mutexes()).acquire();
      hold.renew(50);
      expect(await aborted(hold.signal)).to.include(expired);
      await free();
    });

    it('ends a job whose lock context keeps the loss until the job settles', async () => {
      const [first] = mutexes();
      const both = new InterProcessMultiLock([first as InterProcessMutex]);
      let tried: Promise<Error> | undefined;
      let goOn = (): void => undefined;
      const later = new Promise<void>((resolve) => (goOn = resolve));
      const job = async (): Promise<void> => {
        await later;
        tried = rejection((first as InterProcessMutex).acquire());
      };
      expect(await rejection(both.withLock(job, { leaseMs: 50 }))).to.include(expired);
      goOn();
      await until('the job continues', () => tried !== undefined);
      expect(await tried).to.be.instanceOf(LockLostError);
      await free();
    });

    it('releases holds of custom locks once', async () => {
      const released: string[] = [];
      const custom = {
        path: '/custom',
        acquire: async (): Promise<PartHold> => ({
          isValid: true,
          signal: new AbortController().signal,
          release: async () => (released.push('custom'), 'released'),
        }),
      };
      const hold = await new InterProcessMultiLock<PartHold>([custom, ...mutexes()]).acquire({ leaseMs: 50 });
      const reason = await aborted(hold.signal);
      expect(reason).to.include(expired);
      expect(() => hold.assertValid())
        .to.throw(LockLostError)
        .that.equals(reason);
      expect(released).to.deep.equal(['custom']);
      expect(await hold.release()).to.equal('lost');
      expect(released).to.deep.equal(['custom']);
      // No timer of this lease may go on.
      const next = await new InterProcessMultiLock<PartHold>([custom, ...mutexes()]).acquire({ leaseMs: 600_000 });
      expect([await next.release(), released]).to.deep.equal(['released', ['custom', 'custom']]);
    });

    it('ends the other holds also if the signal of a custom one throws, as after its release', async () => {
      let isReleased = false;
      const { signal } = new AbortController();
      const custom = {
        path: '/custom',
        acquire: async (): Promise<PartHold> => ({
          isValid: true,
          get signal() {
            if (isReleased) throw new Error('it was released');
            return signal;
          },
          release: async () => ((isReleased = true), 'released'),
        }),
      };
      const hold = await new InterProcessMultiLock<PartHold>([custom, ...mutexes()]).acquire({ leaseMs: 50 });
      const loss = aborted(hold.signal);
      await hold.holds[0]?.release();
      expect(await loss).to.include(expired);
      await free();
    });
  });

  describe('of a sticky lock', () => {
    const sticky = (): InterProcessMutex =>
      new InterProcessMutex(lab.client, lab.path, { sticky: { idleMs: 600_000 } });

    it('gives the lock up instead of keeping it', async () => {
      const mutex = sticky();
      const hold = await mutex.acquire({ leaseMs: 100 });
      await aborted(hold.signal);
      await lab.queueReaches(0);
      expect(await hold.release()).to.equal('lost');
      await using next = await mutex.acquire();
      expect(next.fencingToken > hold.fencingToken).to.equal(true);
    });

    it('also ends a repeated grant, and its waiters are served by another znode', async () => {
      const mutex = sticky();
      await (await mutex.acquire()).release();
      const hold = await mutex.acquire({ leaseMs: 200 });
      expect(hold.grantNumber).to.equal(1n);
      const waiting = [mutex.acquire(), mutex.acquire()];
      const first = await (waiting[0] as Promise<typeof hold>);
      expect([hold.isValid, first.fencingToken > hold.fencingToken]).to.deep.equal([false, true]);
      await first.release();
      await (await (waiting[1] as Promise<typeof hold>)).release();
    });

    it('keeps other clients out until it has passed', async () => {
      const mutex = sticky();
      const theirs = new InterProcessMutex(lab.other, lab.path);
      const hold = await mutex.acquire({ leaseMs: 300 });
      await (await theirs.acquire()).release();
      expect(hold.isValid).to.equal(false);
    });

    it('cannot be combined with data', async () => {
      const error = await rejection(sticky().acquire({ data: 'owner' }));
      expect(error)
        .to.be.instanceOf(TypeError)
        .with.property(
          'message',
          'Unexpected option `data`: the holders of a sticky lock share one znode, and its data',
        );
    });
  });
});
