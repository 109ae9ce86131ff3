import { expect } from 'chai';
import { LockClient, lockContext } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection, until } from '../../../lab/until.ts';
import { gate } from '../../../lab/gate.ts';
import { lockClasses, type HoldUnderTest, type LockUnderTest } from './support/lock-classes.ts';
import { reached } from '../../../lab/reached.ts';

const longTimeout = { timeoutMs: 10_000 };

for (const { name, make, folder, isReentrant, isShared = false } of lockClasses) {
  const itExcludes = isShared ? (): void => undefined : it;
  describe(`TestInterProcessMutexBase for ${name}`, () => {
    const lab = labOfEachTest('base', {
      server: { containerCheckMs: 10 },
      client: { sessionTimeoutMs: 15_000 },
    });

    it('testLocker: the lock is held until its hold is disposed of', async () => {
      const lock = make(lab.client, testPath('locker'));
      {
        await using hold = await lock.acquire(longTimeout);
        expect(hold.isValid).to.equal(true);
        expect(lock.isAcquiredInThisProcess).to.equal(true);
      }
      expect(lock.isAcquiredInThisProcess).to.equal(false);
    });

    itExcludes('testWaitingProcessKilledServer: all finish across a restart', async () => {
      const path = testPath('killed-server');
      let inside = 0;
      let isFirst = true;
      const job = async (mine: LockClient): Promise<string> => {
        const lock = make(mine, path);
        const hold = await lock.acquire();
        try {
          expect((inside += 1)).to.equal(1);
          if (isFirst) {
            isFirst = false;
            await until('the others wait', async () => (await lock.participants()).length === 3);
            const suspended = [lab.client, lab.other].map((each) => reached(each, 'suspended'));
            await lab.server.kill();
            await Promise.all(suspended);
            await lab.server.start();
          }
          return 'finished';
        } finally {
          inside -= 1;
          await hold.release();
        }
      };
      expect(await Promise.all([job(lab.client), job(lab.client), job(lab.other)])).to.deep.equal([
        'finished',
        'finished',
        'finished',
      ]);
    });

    itExcludes('testKilledSession: a waiter gets the lock in the next session', async () => {
      const path = testPath('killed-session');
      const first = make(lab.client, path);
      const held = await first.acquire();
      const second = make(lab.client, path);
      const waiting = second.acquire();
      await until('the waiter is queued', async () => (await second.participants()).length === 2);
      await lab.observer.endSession(lab.client);
      const next = await waiting;
      expect(next.isValid).to.equal(true);
      // Two objects with the same client and path are one lock: only the hold shows the loss.
      expect(held.isValid).to.equal(false);
      expect((await second.participants()).map((participant) => participant.path)).to.deep.equal([next.path]);
      await Promise.all([held.release(), next.release()]);
    });

    it('testContainerCleanup: all acquire, and the parents are removed', async () => {
      const finished = await Promise.all(
        Array.from({ length: 10 }, () => {
          const lock = make(lab.client, lab.path);
          return lock.withLock(async (hold) => {
            const place = (await lock.participants()).findIndex((participant) => participant.path === hold.path);
            return isShared ? place >= 0 : place === 0;
          });
        }),
      );
      expect(finished).to.deep.equal(Array.from({ length: 10 }, () => true));
      await until(
        'the parents are gone',
        async () => !(await lab.observer.exists(lab.path.slice(0, lab.path.lastIndexOf('/')))),
      );
    });

    it('testWithNamespace: the lock and its znode are below the chroot', async () => {
      await using chrooted = await LockClient.connect(`${lab.server.connectString}${lab.path}`);
      const lock = make(chrooted, '/locks/our-lock');
      const hold = await lock.acquire(longTimeout);
      expect(hold.path.startsWith(`${folder('/locks/our-lock')}/_c_`)).to.equal(true);
      expect(await lab.observer.exists(`${lab.path}${hold.path}`)).to.equal(true);
      expect((await lock.participants()).map((participant) => participant.path)).to.deep.equal([hold.path]);
      expect(await hold.release()).to.equal('released');
      expect(await lab.observer.exists(`${lab.path}${hold.path}`)).to.equal(false);
    });

    itExcludes('testReentrantSingleLock: ten owners run one at a time', async () => {
      const lock = make(lab.client, testPath('single-lock'));
      const inside = new Set<number>();
      const most: number[] = [];
      const job = (owner: number): Promise<void> =>
        lockContext.run(async () => {
          const hold = await lock.acquire();
          inside.add(owner);
          most.push(inside.size);
          if (most.length === 1)
            await until('all owners are in the queue', async () => (await lock.participants()).length === 10);
          else await lock.participants();
          inside.delete(owner);
          await hold.release();
        });
      await Promise.all(Array.from({ length: 10 }, (_, owner) => job(owner)));
      expect(most).to.deep.equal(Array.from({ length: 10 }, () => 1));
    });

    itExcludes('test2Clients: one of two clients is inside at a time', async () => {
      const path = testPath('two-clients');
      const locks = [make(lab.client, path), make(lab.other, path)] as const;
      const waiting = locks.map((lock) => lock.acquire(longTimeout));
      const first = await Promise.race(waiting);
      await until('the other client waits', async () => (await locks[0].participants()).length === 2);
      expect(locks.filter((lock) => lock.isAcquiredInThisProcess)).to.have.length(1);
      await first.release();
      const [mine, theirs] = (await Promise.all(waiting)) as [HoldUnderTest, HoldUnderTest];
      expect([mine.isValid, theirs.isValid]).to.have.members([true, false]);
      expect(locks.map((lock) => lock.isAcquiredInThisProcess)).to.deep.equal([mine.isValid, theirs.isValid]);
      await Promise.all([mine.release(), theirs.release()]);
    });

    if (!isReentrant) return;

    it('testReentrant: nested acquires free the lock at the end', async () => {
      const lock = make(lab.client, testPath('reentrant'));
      await lockContext.run(() => foo(lock));
      expect(lock.isAcquiredInThisProcess).to.equal(false);
      expect(await lock.participants()).to.deep.equal([]);
    });

    itExcludes('testReentrant2Threads: no other owner gets in between', async () => {
      const lock = make(lab.client, testPath('two-threads'));
      const inBar = gate();
      const otherIsDone = gate();
      const second = lockContext.run(async () => {
        await inBar.opened;
        try {
          expect(await lock.tryAcquire()).to.equal(undefined);
          expect((await rejection(lock.acquire({ timeoutMs: 100 }))).code).to.equal('ERR_LOCK_TIMEOUT');
        } finally {
          otherIsDone.open();
        }
        const hold = await lock.acquire(longTimeout);
        expect(await hold.release()).to.equal('released');
      });
      await lockContext.run(() =>
        foo(lock, () => {
          inBar.open();
          return otherIsDone.opened;
        }),
      );
      await second;
      expect(lock.isAcquiredInThisProcess).to.equal(false);
    });
  });
}

async function foo(lock: LockUnderTest, inBar?: () => Promise<void>): Promise<void> {
  const hold = await lock.acquire(longTimeout);
  expect(lock.isAcquiredInThisProcess).to.equal(true);
  await bar(lock, inBar);
  expect(lock.isAcquiredInThisProcess).to.equal(true);
  await hold.release();
}

async function bar(lock: LockUnderTest, inBar?: () => Promise<void>): Promise<void> {
  const hold = await lock.acquire(longTimeout);
  expect(lock.isAcquiredInThisProcess).to.equal(true);
  await inBar?.();
  await snafu(lock);
  expect(lock.isAcquiredInThisProcess).to.equal(true);
  await hold.release();
}

async function snafu(lock: LockUnderTest): Promise<void> {
  const hold = await lock.acquire(longTimeout);
  expect(lock.isAcquiredInThisProcess).to.equal(true);
  await hold.release();
  expect(lock.isAcquiredInThisProcess).to.equal(true);
}
