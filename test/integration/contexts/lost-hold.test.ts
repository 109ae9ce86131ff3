import { expect } from 'chai';
import { lockContext, LockLostError } from '../../../src/index.ts';
import { rejection } from '../../support/until.ts';
import { lockOfEachTest, queueOf, takeAway } from './lock-of-each-test.ts';

describe('a context whose hold was lost', () => {
  const lock = lockOfEachTest('lost-hold');

  it('does not re-enter: every way in rejects with the LockLostError of the hold', async () => {
    const { mutex, outside } = lock;
    await lockContext.run(async () => {
      const hold = await mutex.acquire();
      await takeAway(hold, outside);
      let isInside = false;
      const ways = [mutex.acquire(), mutex.acquire({ timeoutMs: 0 }), mutex.tryAcquire(), mutex.withLock(() => (isInside = true))];
      for (const error of await Promise.all(ways.map(rejection))) {
        expect(error).to.be.instanceOf(LockLostError).and.to.include({ code: 'ERR_LOCK_LOST', reason: 'node-deleted', path: hold.path });
      }
      expect(isInside).to.equal(false);
      await hold.release();
    });
  });

  it('does not re-enter through the contexts inside of it either', async () => {
    const { mutex, outside } = lock;
    const error = await rejection(
      mutex.withLock((hold) =>
        mutex.withLock(async () => {
          await takeAway(hold, outside);
          expect(await rejection(mutex.withLock(() => undefined))).to.be.instanceOf(LockLostError);
        }),
      ),
    );
    expect(error).to.be.instanceOf(LockLostError);
  });

  it('may acquire again once it has released what it lost', async () => {
    const { mutex, theirs, outside } = lock;
    await lockContext.run(async () => {
      await takeAway(await mutex.acquire(), outside);
      expect(await mutex.release()).to.equal('lost');
      const again = await mutex.acquire();
      expect(again.isValid).to.equal(true);
      expect(await queueOf(theirs)).to.deep.equal([again.path]);
      await mutex.release();
    });
  });

  it('holds back nobody else', async () => {
    const { mutex, theirs, outside } = lock;
    await lockContext.run(async () => {
      const hold = await mutex.acquire();
      await takeAway(hold, outside);
      expect(await theirs.withLock((next) => next.fencingToken > hold.fencingToken)).to.equal(true);
      await hold.release();
    });
  });
});
