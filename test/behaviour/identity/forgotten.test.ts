import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  lockContext,
  type InterProcessMutexOptions,
  type LockClient,
} from '../../../src/index.ts';
import { SharedLocks } from '../../../src/mutex/shared-lock.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { queueReaches, takeAway } from '../../../lab/queue.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';

describe('the shared state of a client’s locks', () => {
  const lab = labOfEachTest('forgotten');

  const used = (client: LockClient = lab.client): number => client.host.companions.of(SharedLocks).inUse.size;

  /** Ways to use a path, each up to the last use. */
  const uses: Record<string, (path: string) => Promise<unknown>> = {
    'a withLock': (path) => lab.client.withLock(path, () => undefined),
    'a withLock whose job fails': (path) =>
      rejection(lab.client.withLock(path, () => Promise.reject(new Error('the job failed')))),
    'an acquire outside of contexts, and its release': async (path) =>
      (await new InterProcessMutex(lab.client, path).acquire()).release(),
    'an acquire and a release of two objects': (path) =>
      lockContext.run(async () => {
        await new InterProcessMutex(lab.client, path).acquire();
        await new InterProcessMutex(lab.client, path).release();
      }),
    're-entries in a lockContext.run': (path) =>
      lockContext.run(async () => {
        const holds = [
          await new InterProcessMutex(lab.client, path).acquire(),
          await new InterProcessMutex(lab.client, path).acquire(),
        ];
        for (const hold of holds) await hold.release();
      }),
    'a tryAcquire': async (path) => (await new InterProcessMutex(lab.client, path).tryAcquire())?.release(),
    'a tryAcquire that returns undefined': async (path) => {
      await using _theirs = await new InterProcessMutex(lab.other, path).acquire();
      expect(await new InterProcessMutex(lab.client, path).tryAcquire()).to.equal(undefined);
    },
    'an acquire that times out': async (path) => {
      await using _theirs = await new InterProcessMutex(lab.other, path).acquire();
      await rejection(new InterProcessMutex(lab.client, path).acquire({ timeoutMs: 20 }));
    },
    'an acquire with a signal that has aborted': (path) =>
      rejection(new InterProcessMutex(lab.client, path).acquire({ signal: AbortSignal.abort() })),
    'an acquire that is aborted while another one waits': async (path) => {
      const theirs = new InterProcessMutex(lab.other, path);
      const hold = await theirs.acquire();
      const aborter = new AbortController();
      const aborting = rejection(new InterProcessMutex(lab.client, path).acquire({ signal: aborter.signal }));
      const waiting = new InterProcessMutex(lab.client, path).acquire();
      await queueReaches(theirs, 3);
      aborter.abort();
      await aborting;
      expect(used()).to.equal(1);
      await hold.release();
      await (await waiting).release();
    },
    'an acquire that ZooKeeper refuses': async (path) => {
      await lab.client.withLock(path, () => lab.observer.create(`${path}/config`));
      await rejection(lab.client.withLock(path, () => undefined));
    },
    'an acquire with options that differ': async (path) => {
      await lab.client.withLock(path, () =>
        rejection(new InterProcessMutex(lab.client, path, { foreignNodes: 'wait' }).acquire()),
      );
    },
    'a hold that is lost and released': async (path) => {
      await using hold = await new InterProcessMutex(lab.client, path).acquire();
      await takeAway(hold, lab.observer);
      expect(used()).to.equal(1);
    },
    'both locks of a read/write lock': async (path) => {
      const rw = new InterProcessReadWriteLock(lab.client, path);
      await rw.writeLock.withLock(() => rw.readLock.withLock(() => undefined));
    },
    'a lock with weights': (path) => withLock(path, { weights: {} }),
    'a sticky lock that is given up': async (path) => {
      await withLock(path, { sticky: { idleMs: 30 } });
      expect(used(), 'while the sticky lock is kept').to.equal(1);
      await until('the sticky lock is given up', () => used() === 0);
    },
    'a sticky lock whose only waiter gives up': async (path) => {
      const theirs = await new InterProcessMutex(lab.other, path).acquire();
      await rejection(
        new InterProcessMutex(lab.client, path, { sticky: { idleMs: 60_000 } }).acquire({ timeoutMs: 30 }),
      );
      await theirs.release();
      await until('the znode of the waiter is gone', () => used() === 0);
    },
  };

  const withLock = (path: string, options: InterProcessMutexOptions): Promise<unknown> =>
    new InterProcessMutex(lab.client, path, options).withLock(() => undefined);

  for (const [usage, use] of Object.entries(uses))
    it(`is empty after ${usage}`, async () => {
      await use(lab.path);
      expect(used()).to.equal(0);
    });

  it('has one entry while a lock is waited for, held, or re-entered', async () => {
    const hold = await lab.theirs.acquire();
    const waiting = [lab.mutex.acquire(), new InterProcessMutex(lab.client, lab.path).acquire()];
    expect(used()).to.equal(1);
    await queueReaches(lab.theirs, 3);
    await hold.release();
    for (const next of waiting) {
      expect(used()).to.equal(1);
      await (await next).release();
    }
    expect(used()).to.equal(0);
  });

  it('is empty after 1,000 paths', async () => {
    await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => lab.client.withLock(`${lab.path}/${index}`, () => undefined)),
    );
    expect(used()).to.equal(0);
  });

  it('is bounded if holds with an expired lease are never released', async () => {
    await lab.client.withLock(lab.path, () => undefined);
    const first = await new InterProcessMutex(lab.client, `${lab.path}/0`).acquire({ leaseMs: 1 });
    await aborted(first.signal);
    for (let index = 1; index < 1_201; index += 100) {
      const holds = await Promise.all(
        Array.from({ length: 100 }, (_, offset) =>
          new InterProcessMutex(lab.client, `${lab.path}/${index + offset}`).acquire({ leaseMs: 1 }),
        ),
      );
      await Promise.all(holds.map((hold) => aborted(hold.signal)));
    }
    expect(used()).to.equal(1_000);
    const latest = new InterProcessMutex(lab.client, `${lab.path}/1200`);
    expect(await latest.release()).to.equal('lost');
    expect(used()).to.equal(999);
    const again = new InterProcessMutex(lab.client, `${lab.path}/0`);
    expect((await rejection(again.release())).code).to.equal('ERR_LOCK_NOT_OWNED');
    await using _hold = await again.acquire();
    expect(await first.release()).to.equal('lost');
    expect(used()).to.equal(1_000);
  });

  const semaphore = (name: string, maxLeases = 100): InterProcessSemaphore =>
    new InterProcessSemaphore(lab.client, `${lab.path}-${name}`, { maxLeases });
  const expire = async (expiring: InterProcessSemaphore): Promise<void> => {
    const leases = await expiring.acquireMany(100, { leaseMs: 1 });
    await Promise.all(leases.map((lease) => aborted(lease.signal)));
  };

  it('keeps an expired lease until its release, however many others have expired and were released', async () => {
    const [first, second] = [semaphore('first'), semaphore('second')];
    await expire(first);
    for (let index = 0; index < 1_000; index += 1) {
      if (index % 100 === 0) await expire(second);
      await second.release();
    }
    expect(await first.release()).to.equal('lost');
  });

  it('is bounded if expired leases of semaphores are never released', async () => {
    const [first, second] = [semaphore('first'), semaphore('second')];
    await expire(first);
    expect(await rejection(semaphore('first', 7).acquire())).to.be.instanceOf(RangeError);
    for (let round = 0; round < 10; round += 1) await expire(second);
    expect((await rejection(first.release())).code).to.equal('ERR_LOCK_NOT_OWNED');
    await (await semaphore('first', 7).acquire()).release();
    for (let index = 0; index < 1_000; index += 1) expect(await second.release()).to.equal('lost');
    expect((await rejection(second.release())).code).to.equal('ERR_LOCK_NOT_OWNED');
    await (await semaphore('second', 7).acquire()).release();
  });
});
