import { expect } from 'chai';
import {
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LockLostError,
  NotOwnedError,
  type Hold,
} from '../../../src/index.ts';
import { gate } from '../../../lab/gate.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { takeAway } from '../../../lab/queue.ts';
import { crowd, isEmpty, returnAll, semaphoreOf, setCount } from '../../../lab/semaphores.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';

const names = ['queued', 'acquired', 'renewed', 'expired', 'lost', 'released'] as const;

describe('a semaphore like a mutex:', () => {
  const lab = labOfEachTest('semaphore-like-mutex');
  let semaphore: InterProcessSemaphore;
  beforeEach(() => (semaphore = semaphoreOf(lab.client, lab.path, 2)));

  const emitted = (of: InterProcessSemaphore | InterProcessSemaphoreMutex): string[] => {
    const log: string[] = [];
    for (const name of names) of.on(name, () => log.push(name));
    return log;
  };

  describe('withLock', () => {
    it('holds a lease during its job, and returns the job’s result', async () => {
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

    it('returns the lease when its job throws, and throws the error of the job', async () => {
      const failure = new Error('the job failed');
      expect(await rejection(semaphore.withLock(() => Promise.reject(failure)))).to.equal(failure);
      await isEmpty(lab.observer, lab.path);
    });

    it('rejects if the lease was lost, and at once if its time has passed', async () => {
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

    it('is not re-entrant: an inner withLock waits for another lease', async () => {
      await semaphore.withLock((outer) =>
        semaphore.withLock(async (inner) => {
          expect(inner.path).to.not.equal(outer.path);
          expect((await rejection(semaphore.withLock(() => undefined, { timeoutMs: 20 }))).code).to.equal(
            'ERR_LOCK_TIMEOUT',
          );
        }),
      );
    });

    it('refuses a stream, and a job that is not a function', async () => {
      expect(await rejection(semaphore.withLock(() => [].values()))).to.be.instanceOf(TypeError);
      expect(await rejection(semaphore.withLock(undefined as never))).to.be.instanceOf(TypeError);
      expect(await lab.observer.children(lab.path).catch(() => [])).to.have.length(2);
    });
  });

  it('release() returns the oldest lease of the object, or rejects if there is none', async () => {
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

    it('lists the leases of the holders, in any process, and not of the waiters', async () => {
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

    it('lists at most as many leases as the shared count is now', async () => {
      const count = `${lab.path}-count`;
      await lab.observer.create(lab.path.slice(0, lab.path.lastIndexOf('/')));
      await lab.observer.create(count);
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

    it('rejects if the shared count cannot be read', async () => {
      const shared = new InterProcessSemaphore(lab.client, lab.path, { sharedCount: `${lab.path}-count` });
      expect((await rejection(shared.holders())).code).to.equal('ERR_LOCK_REQUEST_FAILED');
    });
  });

  describe('its events', () => {
    it('are acquired, renewed and released for each lease', async () => {
      const log = emitted(semaphore);
      const holds: Hold[] = [];
      semaphore.on('acquired', ({ hold }) => holds.push(hold));
      const lease = await semaphore.acquire({ leaseMs: 60_000 });
      lease.renew(60_000);
      const other = await semaphore.tryAcquire();
      expect(holds).to.deep.equal([lease, other]);
      expect(holds[0]).to.equal(lease);
      await lease.release();
      await other?.release();
      expect(log).to.deep.equal(['acquired', 'renewed', 'acquired', 'released', 'released']);
    });

    it('are expired for a lease whose time has passed, and lost for a deleted one', async () => {
      const log = emitted(semaphore);
      const errors: unknown[] = [];
      semaphore.on('expired', ({ error }) => errors.push(error)).on('lost', ({ error }) => errors.push(error));
      const lost = await semaphore.acquire();
      const late = await semaphore.acquire({ leaseMs: 20 });
      await aborted(late.signal);
      await takeAway(lost, lab.observer);
      expect(log).to.deep.equal(['acquired', 'acquired', 'expired', 'lost']);
      expect(errors).to.deep.equal([late.signal.reason, lost.signal.reason]);
      await returnAll([late, lost]);
    });

    it('are queued with the position, once per znode, only for a call that must wait', async () => {
      const queued: { position: number; path: string }[] = [];
      semaphore.on('queued', (event) => queued.push(event));
      const leases = await semaphore.acquireMany(2);
      expect(queued).to.deep.equal([]);
      const waiting: Promise<Hold>[] = [];
      for (const count of [1, 2, 3]) {
        waiting.push(semaphore.acquire());
        await until('${count} acquires are queued', () => queued.length === count);
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
      // The second acquire now holds the inner mutex and waits for a lease.
      await until('the second acquire has emitted its next znode', () => queued.length === 4);
      expect(queued[3]?.position).to.equal(1);
      await returnAll([first, leases[1]]);
      for (const next of waiting.slice(1)) await (await next).release();
    });

    it('are emitted once with once, and no more after off; other names are refused', async () => {
      const log: string[] = [];
      const listener = (): void => void log.push('on');
      semaphore
        .once('acquired', () => log.push('once'))
        .on('acquired', listener)
        .off('acquired', listener);
      await semaphore.withLock(() => undefined);
      await semaphore.withLock(() => undefined);
      expect(log).to.deep.equal(['once']);
      expect(() => semaphore.on('granted' as never, listener)).to.throw(
        TypeError,
        "Expected `event` to be one of 'queued'",
      );
    });
  });

  describe('its mutex', () => {
    it('has holder() and isLocked(), for holders of any process', async () => {
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

    it('emits the same events', async () => {
      const lock = new InterProcessSemaphoreMutex(lab.client, lab.path);
      const log = emitted(lock);
      const hold = await lock.acquire();
      const waiting = lock.acquire();
      await until('the second acquire is queued', () => log.length === 2);
      await lock.release();
      await (await waiting).release();
      expect(hold.isValid).to.equal(false);
      expect(log).to.deep.equal(['acquired', 'queued', 'released', 'acquired', 'released']);
    });
  });
});
