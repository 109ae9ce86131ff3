import { expect } from 'chai';
import { lockContext, LockLostError } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection } from '../../../lab/until.ts';
import { queueOf, takeAway } from '../../../lab/queue.ts';

describe('a context whose hold was lost', () => {
  const lab = labOfEachTest('lost-hold');

  it('does not re-enter: every method rejects with the LockLostError of the hold', async () => {
    const { mutex, observer } = lab;
    await lockContext.run(async () => {
      const hold = await mutex.acquire();
      await takeAway(hold, observer);
      let isInside = false;
      const ways = [
        mutex.acquire(),
        mutex.acquire({ timeoutMs: 0 }),
        mutex.tryAcquire(),
        mutex.withLock(() => (isInside = true)),
      ];
      for (const error of await Promise.all(ways.map(rejection))) {
        expect(error)
          .to.be.instanceOf(LockLostError)
          .and.to.include({ code: 'ERR_LOCK_LOST', reason: 'node-deleted', path: hold.path });
      }
      expect(isInside).to.equal(false);
      await hold.release();
    });
  });

  it('does not re-enter through a context inside it either', async () => {
    const { mutex, observer } = lab;
    const error = await rejection(
      mutex.withLock((hold) =>
        mutex.withLock(async () => {
          await takeAway(hold, observer);
          expect(await rejection(mutex.withLock(() => undefined))).to.be.instanceOf(LockLostError);
        }),
      ),
    );
    expect(error).to.be.instanceOf(LockLostError);
  });

  it('may acquire again after it has released the lost hold', async () => {
    const { mutex, theirs, observer } = lab;
    await lockContext.run(async () => {
      await takeAway(await mutex.acquire(), observer);
      expect(await mutex.release()).to.equal('lost');
      const again = await mutex.acquire();
      expect(again.isValid).to.equal(true);
      expect(await queueOf(theirs)).to.deep.equal([again.path]);
      await mutex.release();
    });
  });

  it('blocks no other client', async () => {
    const { mutex, theirs, observer } = lab;
    await lockContext.run(async () => {
      const hold = await mutex.acquire();
      await takeAway(hold, observer);
      expect(await theirs.withLock((next) => next.fencingToken > hold.fencingToken)).to.equal(true);
      await hold.release();
    });
  });
});
