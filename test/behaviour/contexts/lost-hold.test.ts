import { expect } from 'chai';
import { lockContext, LockLostError } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection } from '../../../lab/until.ts';
import { queueOf, takeAway } from '../../../lab/queue.ts';

describe('a context whose hold was lost', () => {
  const lab = labOfEachTest('lost-hold');

  it('does not re-enter: every method rejects with the LockLostError of the hold', async () => {
    await lockContext.run(async () => {
      await using hold = await lab.mutex.acquire();
      await takeAway(hold, lab.observer);
      let isInside = false;
      const ways = [
        lab.mutex.acquire(),
        lab.mutex.acquire({ timeoutMs: 0 }),
        lab.mutex.tryAcquire(),
        lab.mutex.withLock(() => (isInside = true)),
      ];
      for (const error of await Promise.all(ways.map(rejection))) {
        expect(error)
          .to.be.instanceOf(LockLostError)
          .and.to.include({ code: 'ERR_LOCK_LOST', reason: 'node-deleted', path: hold.path });
      }
      expect(isInside).to.equal(false);
    });
  });

  it('does not re-enter through a context inside it either', async () => {
    const error = await rejection(
      lab.mutex.withLock((hold) =>
        lab.mutex.withLock(async () => {
          await takeAway(hold, lab.observer);
          expect(await rejection(lab.mutex.withLock(() => undefined))).to.be.instanceOf(LockLostError);
        }),
      ),
    );
    expect(error).to.be.instanceOf(LockLostError);
  });

  it('may acquire again after it has released the lost hold', async () => {
    await lockContext.run(async () => {
      await takeAway(await lab.mutex.acquire(), lab.observer);
      expect(await lab.mutex.release()).to.equal('lost');
      const again = await lab.mutex.acquire();
      expect(again.isValid).to.equal(true);
      expect(await queueOf(lab.theirs)).to.deep.equal([again.path]);
      await lab.mutex.release();
    });
  });

  it('blocks no other client', async () => {
    await lockContext.run(async () => {
      await using hold = await lab.mutex.acquire();
      await takeAway(hold, lab.observer);
      expect(await lab.theirs.withLock((next) => next.fencingToken > hold.fencingToken)).to.equal(true);
    });
  });
});
