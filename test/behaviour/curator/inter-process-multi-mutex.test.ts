import { expect } from 'chai';
import { InterProcessMultiLock, InterProcessMutex, type PartOfMultiLock } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection } from '../../../lab/until.ts';

describe('TestInterProcessMultiMutex', () => {
  const lab = labOfEachTest('multi-mutex');

  it('testSomeReleasesFail: the other locks are released, and the error is reported', async () => {
    const good = new InterProcessMutex(lab.client, `${lab.path}-1`);
    const otherGood = new InterProcessMutex(lab.client, `${lab.path}-2`);
    const foo = new Error('foo');
    const bad: PartOfMultiLock = {
      path: otherGood.path,
      acquire: async (options) => {
        const hold = await otherGood.acquire(options);
        return { isValid: hold.isValid, signal: hold.signal, release: () => Promise.reject(foo) };
      },
    };
    const hold = await new InterProcessMultiLock([good, bad]).acquire();
    expect(await rejection(hold.release())).to.equal(foo);
    expect([good.isAcquiredInThisProcess, otherGood.isAcquiredInThisProcess]).to.deep.equal([false, true]);
  });

  it('testSomeLocksFailToLock: the locks acquired before are released again', async () => {
    const good = new InterProcessMutex(lab.client, `${lab.path}-1`);
    const foo = new Error('foo');
    let wasLocked = false;
    const bad: PartOfMultiLock = {
      path: `${lab.path}-2`,
      acquire: () => {
        wasLocked = good.isAcquiredInThisProcess;
        return Promise.reject(foo);
      },
    };
    expect(await rejection(new InterProcessMultiLock([bad, good]).acquire())).to.equal(foo);
    expect([good.isAcquiredInThisProcess, wasLocked]).to.deep.equal([false, true]);
  });
});
