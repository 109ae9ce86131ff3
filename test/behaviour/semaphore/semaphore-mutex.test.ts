import { expect } from 'chai';
import { InterProcessSemaphoreMutex, lockContext } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { aborted, rejection } from '../../../lab/until.ts';
import { crowd, isEmpty, semaphoreOf, waits } from '../../../lab/semaphores.ts';

describe('a semaphore mutex', () => {
  const lab = labOfEachTest('semaphore-mutex');

  const lock = (): InterProcessSemaphoreMutex => new InterProcessSemaphoreMutex(lab.client, lab.path);

  it('is not re-entrant: its own holder waits as well', async () => {
    const mutex = lock();
    await lockContext.run(async () => {
      await using _hold = await mutex.acquire();
      expect(await mutex.tryAcquire()).to.equal(undefined);
      expect((await rejection(mutex.acquire({ timeoutMs: 100 }))).code).to.equal('ERR_LOCK_TIMEOUT');
    });
    await isEmpty(lab.observer, lab.path);
  });

  it('is released by any owner, once', async () => {
    const mutex = lock();
    await lockContext.run(() => mutex.acquire());
    expect(mutex.isAcquiredInThisProcess).to.equal(true);
    expect(await lockContext.run(() => mutex.release())).to.equal('released');
    expect(mutex.isAcquiredInThisProcess).to.equal(false);
    const error = await rejection(mutex.release());
    expect(error).to.have.property('code', 'ERR_LOCK_NOT_OWNED');
    expect(error.message).to.match(new RegExp(`^Not acquired: ${lab.path}: .* Prefer hold\\.release\\(\\)`));
  });

  it('does not count a hold that was released by its handle', async () => {
    const mutex = lock();
    await (await mutex.acquire()).release();
    expect((await rejection(mutex.release())).code).to.equal('ERR_LOCK_NOT_OWNED');
  });

  it('releases the oldest hold first, a lost one before its successor', async () => {
    const mutex = lock();
    const first = await mutex.acquire();
    const loss = aborted(first.signal);
    await lab.observer.remove(first.path);
    await loss;
    const second = await mutex.acquire();
    expect(await mutex.release()).to.equal('lost');
    expect(second.isValid).to.equal(true);
    expect(await mutex.release()).to.equal('released');
  });

  it('shares one queue with a semaphore of one lease', async () => {
    const hold = await lock().acquire();
    const waiting = semaphoreOf(lab.other, lab.path, 1).acquire();
    await waits(lab.observer, lab.path, 2);
    expect((await lock().participants()).map(({ path }) => path))
      .to.include(hold.path)
      .and.to.have.length(2);
    await hold.release();
    await (await waiting).release();
  });

  it('runs a job, and rejects if it fulfils after the loss', async () => {
    const mutex = lock();
    expect(await mutex.withLock((hold) => hold.isValid)).to.equal(true);
    const lost = await rejection(
      mutex.withLock(async (hold) => {
        const loss = aborted(hold.signal);
        await lab.observer.remove(hold.path);
        await loss;
      }),
    );
    expect(lost).to.have.property('code', 'ERR_LOCK_LOST');
    expect((await rejection(mutex.withLock(() => [1].values()))).message).to.contain(
      'Expected `job` to return a value',
    );
    await crowd(lab.observer, lab.path, { leases: 0, locks: 0 });
  });
});
