import { expect } from 'chai';
import {
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LockLostError,
  NotOwnedError,
  type Hold,
} from '../../../src/index.ts';
import { gate } from '../../../harness/gate.ts';
import { labOfEachTest } from '../../../harness/lab.ts';
import { takeAway } from '../../../harness/queue.ts';
import { crowd, isEmpty, returnAll, semaphoreOf, setCount } from '../../../harness/semaphores.ts';
import { aborted, rejection, until } from '../../../harness/until.ts';

const names = ['queued', 'acquired', 'renewed', 'expired', 'lost', 'released'] as const;

describe('a semaphore, as a mutex', () => {
  const lab = labOfEachTest('semaphore-sisters');
  let semaphore: InterProcessSemaphore;
  beforeEach(() => {
    semaphore = semaphoreOf(lab.client, lab.path, 2);
  });

  const heard = (of: InterProcessSemaphore | InterProcessSemaphoreMutex): string[] => {
    const told: string[] = [];
    for (const name of names) of.on(name, () => told.push(name));
    return told;
  };

  describe('withLock', () => {
    it('has a lease while its job runs, gives it back when the job settles, and returns what the job returns', async () => {
      let inside = 0;
      const most: number[] = [];
      const results = await Promise.all(
        [1, 2, 3, 4].map((number) =>
          semaphore.withLock(async (lease) => {
            most.push((inside += 1));
            await semaphore.participants();
            expect(lease.isValid).to.equal(true);
            inside -= 1;
            return number * 10;
          }),
        ),
      );
      expect(results).to.deep.equal([10, 20, 30, 40]);
      expect(Math.max(...most)).to.equal(2);
      await isEmpty(lab.observer, lab.path);
    });

    it('gives the lease back when its job throws, and throws what it threw', async () => {
      const failure = new Error('the job failed');
      expect(await rejection(semaphore.withLock(() => Promise.reject(failure)))).to.equal(failure);
      await isEmpty(lab.observer, lab.path);
    });

    it('rejects when the lease was lost, though its job fulfils, and at once when its time has passed', async () => {
      const lost = await rejection(
        semaphore.withLock(async (lease) => {
          await takeAway(lease, lab.observer);
          return 'fulfilled';
        }),
      );
      expect(lost).to.be.instanceOf(LockLostError).and.to.include({ reason: 'node-deleted' });
      const { opened, open } = gate();
      expect(await rejection(semaphore.withLock(() => opened, { leaseMs: 20 }))).to.include({
        reason: 'lease-expired',
      });
      open();
    });

    it('is not re-entrant: inside of it another lease is waited for', async () => {
      await semaphore.withLock((outer) =>
        semaphore.withLock(async (inner) => {
          expect(inner.path).to.not.equal(outer.path);
          expect((await rejection(semaphore.withLock(() => undefined, { timeoutMs: 20 }))).code).to.equal(
            'ERR_LOCK_TIMEOUT',
          );
        }),
      );
    });

    it('does not take a stream or a job that is no function', async () => {
      expect(await rejection(semaphore.withLock(() => [].values()))).to.be.instanceOf(TypeError);
      expect(await rejection(semaphore.withLock(undefined as never))).to.be.instanceOf(TypeError);
      expect(await lab.observer.children(lab.path).catch(() => [])).to.have.length(2);
    });
  });

  it('release() gives back the oldest lease of the object, and refuses when there is none', async () => {
    expect(semaphore.isAcquiredInThisProcess).to.equal(false);
    const [first, second] = [await semaphore.acquire(), await semaphore.acquire()];
    expect(semaphore.isAcquiredInThisProcess).to.equal(true);
    expect(await semaphore.release()).to.equal('released');
    expect([first.isValid, second.isValid]).to.deep.equal([false, true]);
    expect(await semaphore.release()).to.equal('released');
    expect(semaphore.isAcquiredInThisProcess).to.equal(false);
    const error = await rejection(semaphore.release());
    expect(error).to.be.instanceOf(NotOwnedError);
    expect(error.message).to.match(
      new RegExp(`^Not acquired: ${lab.path}: release\\(\\) ends a hold that was acquired by this object`),
    );
  });

  it('release() never takes the lease of a running withLock job', async () => {
    await semaphore.withLock(async (lease) => {
      expect(await rejection(semaphore.release())).to.be.instanceOf(NotOwnedError);
      const later = await semaphore.acquire();
      expect(await semaphore.release()).to.equal('released');
      expect([lease.isValid, later.isValid]).to.deep.equal([true, false]);
    });
  });

  describe('holders()', () => {
    const paths = async (of: InterProcessSemaphore): Promise<string[]> => (await of.holders()).map(({ path }) => path);

    it('are those who have a lease, in whatever process, and not those who wait for one', async () => {
      expect(await paths(semaphore)).to.deep.equal([]);
      const theirs = await semaphoreOf(lab.other, lab.path, 2).acquire();
      expect(await paths(semaphore)).to.deep.equal([theirs.path]);
      const ours = await semaphore.acquire();
      const waiting = [semaphore.acquire(), semaphore.acquire()];
      await crowd(lab.observer, lab.path, { leases: 3, locks: 2 });
      expect(await semaphore.participants()).to.have.length(3);
      expect(await paths(semaphore)).to.deep.equal([theirs.path, ours.path]);
      await theirs.release();
      const next = await waiting[0];
      expect(await paths(semaphore)).to.deep.equal([ours.path, next?.path]);
      await returnAll([ours, next]);
      await (await waiting[1])?.release();
    });

    it('are as many as a shared count says now', async () => {
      const count = `${lab.path}-count`;
      await lab.client.withLock(count, () => undefined);
      await setCount(lab.client, count, 1);
      const shared = new InterProcessSemaphore(lab.client, lab.path, { sharedCount: count });
      const lease = await shared.acquire();
      const waiting = shared.acquire();
      await crowd(lab.observer, lab.path, { leases: 2, locks: 1 });
      expect(await paths(shared)).to.deep.equal([lease.path]);
      await setCount(lab.client, count, 2);
      expect(await paths(shared)).to.have.length(2);
      const second = await waiting;
      await setCount(lab.client, count, 0);
      expect(await paths(shared)).to.deep.equal([]);
      await returnAll([lease, second]);
    });

    it('cannot be read where the shared count cannot', async () => {
      const shared = new InterProcessSemaphore(lab.client, lab.path, { sharedCount: `${lab.path}-count` });
      expect((await rejection(shared.holders())).code).to.equal('ERR_LOCK_REQUEST_FAILED');
    });
  });

  describe('events', () => {
    it('are acquired, renewed and released, for each lease', async () => {
      const told = heard(semaphore);
      const holds: Hold[] = [];
      semaphore.on('acquired', ({ hold }) => holds.push(hold));
      const lease = await semaphore.acquire({ leaseMs: 60_000 });
      lease.renew(60_000);
      const other = await semaphore.tryAcquire();
      expect(holds).to.deep.equal([lease, other]);
      expect(holds[0]).to.equal(lease);
      await lease.release();
      await other?.release();
      expect(told).to.deep.equal(['acquired', 'renewed', 'acquired', 'released', 'released']);
    });

    it('are expired for a lease whose time has passed, and lost for one whose znode is gone', async () => {
      const told = heard(semaphore);
      const errors: unknown[] = [];
      semaphore.on('expired', ({ error }) => errors.push(error)).on('lost', ({ error }) => errors.push(error));
      const lost = await semaphore.acquire();
      const late = await semaphore.acquire({ leaseMs: 20 });
      await aborted(late.signal);
      await takeAway(lost, lab.observer);
      expect(told).to.deep.equal(['acquired', 'acquired', 'expired', 'lost']);
      expect(errors).to.deep.equal([late.signal.reason, lost.signal.reason]);
      await returnAll([late, lost]);
    });

    it('are queued with the place in line, once for each znode, and not to a call that need not wait', async () => {
      const queued: { position: number; path: string }[] = [];
      semaphore.on('queued', (event) => queued.push(event));
      const leases = await semaphore.acquireMany(2);
      expect(queued).to.deep.equal([]);
      const waiting: Promise<Hold>[] = [];
      for (const count of [1, 2, 3]) {
        waiting.push(semaphore.acquire());
        await until('it is queued', () => queued.length === count);
      }
      expect(queued.map(({ position }) => position)).to.deep.equal([1, 2, 3]);
      expect(queued.map(({ path }) => path.slice(lab.path.length).split('/')[1])).to.deep.equal([
        'leases',
        'locks',
        'locks',
      ]);
      await leases[0]?.release();
      const first = await waiting[0];
      expect(first?.path).to.equal(queued[0]?.path);
      // Its turn has come, and it waits for a lease.
      await until('the second one is told of its next znode', () => queued.length === 4);
      expect(queued[3]?.position).to.equal(1);
      await returnAll([first, leases[1]]);
      for (const next of waiting.slice(1)) await (await next).release();
    });

    it('are heard once with once, and no more after off; and other names are refused', async () => {
      const told: string[] = [];
      const listener = (): void => void told.push('on');
      semaphore
        .once('acquired', () => told.push('once'))
        .on('acquired', listener)
        .off('acquired', listener);
      await semaphore.withLock(() => undefined);
      await semaphore.withLock(() => undefined);
      expect(told).to.deep.equal(['once']);
      expect(() => semaphore.on('granted' as never, listener)).to.throw(
        TypeError,
        "Expected `event` to be one of 'queued'",
      );
    });
  });

  describe('its mutex', () => {
    it('knows its holder, and whether it is locked, in whatever process', async () => {
      const [ours, theirs] = [
        new InterProcessSemaphoreMutex(lab.client, lab.path),
        new InterProcessSemaphoreMutex(lab.other, lab.path),
      ];
      expect([await ours.holder(), await ours.isLocked()]).to.deep.equal([undefined, false]);
      const hold = await theirs.acquire({ data: 'owner' });
      const waiting = ours.acquire();
      await crowd(lab.observer, lab.path, { leases: 2, locks: 1 });
      const holder = await ours.holder();
      expect([holder?.path, holder?.owner?.pid, await ours.isLocked()]).to.deep.equal([hold.path, process.pid, true]);
      await hold.release();
      await (await waiting).release();
      expect(await ours.isLocked()).to.equal(false);
    });

    it('tells its events', async () => {
      const lock = new InterProcessSemaphoreMutex(lab.client, lab.path);
      const told = heard(lock);
      const hold = await lock.acquire();
      const waiting = lock.acquire();
      await until('it waits', () => told.length === 2);
      await lock.release();
      await (await waiting).release();
      expect(hold.isValid).to.equal(false);
      expect(told).to.deep.equal(['acquired', 'queued', 'released', 'acquired', 'released']);
    });
  });
});
