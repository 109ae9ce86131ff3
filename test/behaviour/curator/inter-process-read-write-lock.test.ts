import { expect } from 'chai';
import { InterProcessReadWriteLock, LockClient, lockContext } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { gate } from '../../../lab/gate.ts';

const longTimeout = { timeoutMs: 10_000 };

describe('TestInterProcessReadWriteLock', () => {
  const lab = labOfEachTest('read-write', { server: 'own' });

  const waiting = (path: string, count: number): Promise<void> =>
    until(`${count} znodes are in the queue`, async () => (await lab.observer.children(path)).length === count);

  it('testGetParticipantNodes: each lock lists its own kind, 20 readers and 8 writers', async () => {
    const rw = new InterProcessReadWriteLock(lab.client, testPath('participants'));
    const exit = gate();
    const inside = Array.from({ length: 20 }, gate);
    const readers = inside.map((mine) =>
      rw.readLock.withLock(() => {
        mine.open();
        return exit.opened;
      }),
    );
    await Promise.all(inside.map((each) => each.opened));
    const writers = Array.from({ length: 8 }, () => rw.writeLock.withLock(() => exit.opened));
    await waiting(rw.path, 28);
    const reading = await rw.readLock.participants();
    const writing = await rw.writeLock.participants();
    expect(reading).to.have.length(20);
    expect(writing).to.have.length(8);
    for (const { path } of reading) expect(path).to.match(/^.*\/_c_[-0-9a-f]{36}-__READ__\d{10}$/);
    for (const { path } of writing) expect(path).to.match(/^.*\/_c_[-0-9a-f]{36}-__WRIT__\d{10}$/);
    exit.open();
    await Promise.all([...readers, ...writers]);
    expect(await lab.observer.children(rw.path)).to.deep.equal([]);
  });

  it('testThatUpgradingIsDisallowed: a reader is not granted the write lock', () =>
    lockContext.run(async () => {
      const rw = new InterProcessReadWriteLock(lab.client, testPath('upgrading'));
      const reading = await rw.readLock.acquire();
      expect(await rw.writeLock.tryAcquire(300)).to.equal(undefined);
      expect(await reading.release()).to.equal('released');
    }));

  it('testThatDowngradingRespectsThreads: another owner does not read while a writer holds', async () => {
    const rw = new InterProcessReadWriteLock(lab.client, testPath('threads'));
    const written = gate();
    const exit = gate();
    const writer = lockContext.run(async () => {
      const writing = await rw.writeLock.acquire();
      written.open();
      await exit.opened;
      await writing.release();
    });
    await lockContext.run(async () => {
      await written.opened;
      expect(rw.writeLock.isOwnedByCurrentContext).to.equal(false);
      expect(await rw.readLock.tryAcquire()).to.equal(undefined);
      expect(await rw.readLock.tryAcquire(300)).to.equal(undefined);
    });
    exit.open();
    await writer;
  });

  it('testDowngrading: the writer reads at once, and keeps reading after its write lock', () =>
    lockContext.run(async () => {
      const rw = new InterProcessReadWriteLock(lab.client, testPath('downgrading'));
      const writing = await rw.writeLock.acquire();
      const reading = await rw.readLock.acquire(longTimeout);
      expect(await rw.writeLock.release()).to.equal('released');
      expect([writing.isValid, reading.isValid]).to.deep.equal([false, true]);
      expect([rw.writeLock.isOwnedByCurrentContext, rw.readLock.isOwnedByCurrentContext]).to.deep.equal([false, true]);
      expect(await rw.readLock.release()).to.equal('released');
      expect(await lab.observer.children(rw.path)).to.deep.equal([]);
    }));

  it('testContendingDowngrading: an earlier writer waits until the reader is done', async () => {
    const first = new InterProcessReadWriteLock(lab.client, lab.path);
    const second = new InterProcessReadWriteLock(lab.other, lab.path);
    await lockContext.run(async () => {
      const writing = await first.writeLock.acquire();
      const contending = second.writeLock.acquire();
      await waiting(lab.path, 2);
      const reading = await first.readLock.acquire(longTimeout);
      await writing.release();
      // The release wakes the contending writer, which lists again. The try behind it shows that this has happened.
      expect(await new InterProcessReadWriteLock(lab.other, lab.path).writeLock.tryAcquire(300)).to.equal(undefined);
      expect(second.writeLock.isAcquiredInThisProcess).to.equal(false);
      expect(reading.isValid).to.equal(true);
      await reading.release();
      await (await contending).release();
    });
  });

  it('testBasic: of eight clients, several read together, and one writes alone', async () => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => LockClient.connect(lab.server.connectString)));
    const inside = { readers: 0, writers: 0 };
    const done = { reads: 0, writes: 0, mostReaders: 0 };
    const allRead = gate();
    const user = async (mine: LockClient, index: number): Promise<void> => {
      const rw = new InterProcessReadWriteLock(mine, lab.path);
      for (let turn = 0; turn < 30; turn += 1) {
        if (turn % 10 === index + 1) {
          const hold = await rw.writeLock.acquire(longTimeout);
          inside.writers += 1;
          expect(inside).to.deep.equal({ readers: 0, writers: 1 });
          await lab.observer.exists(lab.path);
          inside.writers -= 1;
          done.writes += 1;
          await hold.release();
        } else {
          const hold = await rw.readLock.acquire(longTimeout);
          inside.readers += 1;
          expect(inside.writers).to.equal(0);
          done.mostReaders = Math.max(done.mostReaders, inside.readers);
          if (inside.readers === clients.length) allRead.open();
          await (turn === 0 ? allRead.opened : lab.observer.exists(lab.path));
          inside.readers -= 1;
          done.reads += 1;
          await hold.release();
        }
      }
    };
    await Promise.all(clients.map(user));
    expect(done).to.deep.equal({ reads: 216, writes: 24, mostReaders: 8 });
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    await Promise.all(clients.map((each) => each.close()));
  });

  it('testSetNodeData: both locks write the given bytes, without later changes to the array', () =>
    lockContext.run(async () => {
      const data = Buffer.from([1, 2, 3, 4]);
      const rw = new InterProcessReadWriteLock(lab.client, testPath('data'), { data });
      data[0] = 5;
      const writing = await rw.writeLock.acquire();
      const reading = await rw.readLock.acquire();
      for (const lock of [rw.writeLock, rw.readLock])
        expect((await lock.participants()).map((participant) => [...participant.data])).to.deep.equal([[1, 2, 3, 4]]);
      await reading.release();
      await writing.release();
      const alone = await rw.readLock.acquire();
      expect((await rw.readLock.participants()).map((participant) => [...participant.data])).to.deep.equal([
        [1, 2, 3, 4],
      ]);
      await alone.release();
    }));

  it('testLockPath: the killed writer’s znode is gone, and a reader is granted', async () => {
    const writing = await new InterProcessReadWriteLock(lab.client, lab.path).writeLock.acquire();
    const loss = aborted(writing.signal);
    const reading = new InterProcessReadWriteLock(lab.other, lab.path).readLock.acquire(longTimeout);
    await waiting(lab.path, 2);
    await lab.observer.endSession(lab.client);
    await loss;
    const next = await reading;
    expect(next.isValid).to.equal(true);
    expect(await lab.observer.exists(writing.path)).to.equal(false);
    expect(() => writing.assertValid()).to.throw('was lost');
    await next.release();
    expect(await writing.release()).to.equal('lost');
    expect((await rejection(new InterProcessReadWriteLock(lab.client, lab.path).writeLock.release())).code).to.equal(
      'ERR_LOCK_NOT_OWNED',
    );
  });
});
