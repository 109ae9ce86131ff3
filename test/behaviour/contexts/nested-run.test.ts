import { expect } from 'chai';
import { DeadlockError, InterProcessMutex, lockContext, type AcquireOptions } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection } from '../../../lab/until.ts';
import { CriticalSection } from '../../../lab/critical-section.ts';
import { gate } from '../../../lab/gate.ts';
import { queueOf, queueReaches, takeAway } from '../../../lab/queue.ts';

describe('a lockContext.run', () => {
  const lab = labOfEachTest('nested-run');

  const waits: Record<string, (options?: AcquireOptions) => Promise<unknown>> = {
    acquire: (options) => lab.mutex.acquire(options),
    withLock: (options) => lab.mutex.withLock(() => undefined, options),
  };
  const holders: Record<string, (job: () => Promise<void>) => Promise<void>> = {
    'a withLock': (job) => lab.mutex.withLock(job),
    'a lockContext.run that holds': (job) =>
      lockContext.run(async () => {
        await using _hold = await lab.mutex.acquire();
        await job();
      }),
  };

  for (const [holder, inside] of Object.entries(holders)) {
    it(`inside ${holder} is a new owner`, async () => {
      await inside(async () => {
        await lockContext.run(async () => {
          expect(lab.mutex.isOwnedByCurrentContext).to.equal(false);
          expect(await lab.mutex.tryAcquire()).to.equal(undefined);
        });
        expect(lab.mutex.isOwnedByCurrentContext).to.equal(true);
        expect(await queueOf(lab.theirs)).to.have.length(1);
      });
    });

    for (const [how, wait] of Object.entries(waits)) {
      it(`inside ${holder} gets the deadlock error from ${how} without a timeout`, async () => {
        await inside(async () => {
          const error = await lockContext.run(() => rejection(wait()));
          expect(error).to.be.instanceOf(DeadlockError);
          expect(error.code).to.equal('ERR_LOCK_DEADLOCK');
          expect(error.message).to.contain(lab.mutex.path);
          expect(await queueOf(lab.theirs)).to.have.length(1);
        });
      });

      it(`inside ${holder} may wait by ${how} with a timeout, and then times out`, async () => {
        await inside(async () => {
          const error = await lockContext.run(() => rejection(wait({ timeoutMs: 20 })));
          expect(error.code).to.equal('ERR_LOCK_TIMEOUT');
        });
      });
    }
  }

  it('gets the deadlock error at any depth, and through another object of the mutex', async () => {
    const twin = new InterProcessMutex(lab.client, lab.mutex.path);
    const between = new InterProcessMutex(lab.client, `${lab.mutex.path}-between`);
    await lab.mutex.withLock(async () => {
      const errors = await lockContext.run(() =>
        between.withLock(() =>
          Promise.all([rejection(lab.mutex.acquire()), rejection(lockContext.run(() => twin.acquire()))]),
        ),
      );
      expect(errors.map(({ code }) => code)).to.deep.equal(['ERR_LOCK_DEADLOCK', 'ERR_LOCK_DEADLOCK']);
    });
  });

  it('that nobody awaits gets the deadlock error as well, and the error names the remedies', async () => {
    let started: Promise<Error> | undefined;
    await lab.mutex.withLock(() => {
      started = lockContext.run(() => rejection(lab.mutex.acquire()));
    });
    const error = await started;
    expect(error).to.be.instanceOf(DeadlockError);
    expect(error?.message).to.contain('timeoutMs or a signal').and.to.contain('lockContext.bind');
  });

  it('that has a signal waits until it aborts', async () => {
    await lab.mutex.withLock(async () => {
      const error = await lockContext.run(() => rejection(lab.mutex.acquire({ signal: AbortSignal.timeout(50) })));
      expect(error.name).to.equal('TimeoutError');
    });
  });

  it('that waits for another client, or for a sibling job, is no deadlock', async () => {
    const section = new CriticalSection(lab.theirs, 3);
    const visit = (): Promise<void> => lockContext.run(() => lab.mutex.withLock(() => section.visit()));
    await Promise.all([
      lab.theirs.withLock(() => section.visit()),
      lockContext.run(() => Promise.all([visit(), visit()])),
    ]);
    expect(section).to.deep.include({ visits: 3, most: 1 });
  });

  it('that waits for a lost or released hold of the job around it is no deadlock', async () => {
    const acquired = (): Promise<boolean> => lockContext.run(() => lab.mutex.withLock((hold) => hold.isValid));
    await lockContext.run(async () => {
      const hold = await lab.mutex.acquire();
      await takeAway(hold, lab.observer);
      expect(await acquired()).to.equal(true);
      await hold.release();
      expect(await acquired()).to.equal(true);
    });
  });

  it('that waits for an unreleased hold of a dead context is no deadlock: the hold can still be released', async () => {
    const { opened, open } = gate();
    let detached: Promise<boolean> | undefined;
    const left = await lockContext.run(async () => {
      detached = opened.then(() => lockContext.run(() => lab.mutex.withLock((hold) => hold.isValid)));
      return lab.mutex.acquire();
    });
    open();
    await queueReaches(lab.theirs, 2);
    await left.release();
    expect(await detached).to.equal(true);
  });
});
