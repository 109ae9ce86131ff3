import { expect } from 'chai';
import { InterProcessMutex, InterProcessReadWriteLock, lockContext, NotOwnedError } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection } from '../../../lab/until.ts';
import { gate } from '../../../lab/gate.ts';
import { queueOf, queueReaches, takeAway } from '../../../lab/queue.ts';

describe('mutex.release()', () => {
  const lab = labOfEachTest('release');

  async function expectNotOwned(releasing: Promise<unknown>): Promise<void> {
    const error = await rejection(releasing);
    expect(error).to.be.instanceOf(NotOwnedError);
    expect(error).to.have.property('code', 'ERR_LOCK_NOT_OWNED');
    expect(error.message).to.match(
      new RegExp(`^You do not own the lock: ${lab.mutex.path}: .* Prefer hold\\.release\\(\\)`),
    );
  }

  it('in a late finally settles the lost hold, not the hold of the successor', async () => {
    const { mutex, theirs, observer } = lab;
    const lost = gate();
    const succeeded = gate();
    const late = (async () => {
      const hold = await mutex.acquire();
      let outcome: unknown;
      try {
        await takeAway(hold, observer);
        lost.open();
        await succeeded.opened;
      } finally {
        outcome = await mutex.release();
      }
      return outcome;
    })();
    await lost.opened;
    const successor = await mutex.acquire();
    succeeded.open();

    expect(await late).to.equal('lost');
    expect(successor.isValid).to.equal(true);
    expect(await queueOf(theirs)).to.deep.equal([successor.path]);
    expect(await mutex.release()).to.equal('released');
    expect(successor.isValid).to.equal(false);
    expect(await queueOf(theirs)).to.deep.equal([]);
    await expectNotOwned(mutex.release());
  });

  it('outside of contexts settles the oldest hold first, one at a time', async () => {
    const { mutex, observer } = lab;
    await takeAway(await mutex.acquire(), observer);
    await takeAway(await mutex.acquire(), observer);
    const valid = await mutex.acquire();
    const outcomes = [await mutex.release(), await mutex.release(), await mutex.release()];
    expect(outcomes).to.deep.equal(['lost', 'lost', 'released']);
    expect(valid.isValid).to.equal(false);
    await expectNotOwned(mutex.release());
  });

  it('by a client that does not own the lock is refused with Curator’s message', async () => {
    const { mutex, theirs } = lab;
    await expectNotOwned(mutex.release());
    const hold = await mutex.acquire();
    await expectNotOwned(theirs.release());
    await hold.release();
    await expectNotOwned(mutex.release());
  });

  it('in a context without a hold is refused, even if another owner holds the lock', async () => {
    const { client, mutex, theirs } = lab;
    const outsideOfContexts = await mutex.acquire();
    await lockContext.run(() => expectNotOwned(mutex.release()));
    await new InterProcessMutex(client, `${mutex.path}-another`).withLock(() => expectNotOwned(mutex.release()));
    expect(outsideOfContexts.isValid).to.equal(true);
    expect(await queueOf(theirs)).to.deep.equal([outsideOfContexts.path]);
    await outsideOfContexts.release();
  });

  it('in a nested lockContext.run is refused, because the job around it is another owner', async () => {
    const { mutex } = lab;
    await lockContext.run(async () => {
      const hold = await mutex.acquire();
      await lockContext.run(() => expectNotOwned(mutex.release()));
      expect(hold.isValid).to.equal(true);
      await mutex.release();
    });
  });

  it('outside of contexts never ends the hold of a live withLock', async () => {
    const { mutex } = lab;
    const held = gate();
    const { opened, open } = gate();
    const running = mutex.withLock(async (hold) => {
      held.open();
      await opened;
      return hold.isValid;
    });
    await held.opened;
    await expectNotOwned(mutex.release());
    open();
    expect(await running).to.equal(true);
  });

  it('outside of contexts never ends the hold of a withLock whose job has just settled', async () => {
    const { readLock } = new InterProcessReadWriteLock(lab.client, lab.path);
    for (let microtasks = 0; microtasks < 6; microtasks += 1) {
      const held = gate();
      const { opened, open } = gate();
      const job = readLock.withLock(() => {
        held.open();
        return opened;
      });
      await held.opened;
      const mine = await readLock.acquire();
      const releasing = opened.then(async () => {
        for (let passed = 0; passed < microtasks; passed += 1) await Promise.resolve();
        return readLock.release();
      });
      open();
      await job;
      await releasing;
      expect(mine.isValid, `after ${microtasks} microtasks`).to.equal(false);
    }
  });

  it('outside of contexts skips the hold of a live lockContext.run and settles its own', async () => {
    const { mutex, observer, theirs } = lab;
    const held = gate();
    const { opened, open } = gate();
    const running = lockContext.run(async () => {
      const hold = await mutex.acquire();
      await takeAway(hold, observer);
      held.open();
      await opened;
      return mutex.release();
    });
    await held.opened;
    const successor = await mutex.acquire();
    expect(await mutex.release()).to.equal('released');
    expect(successor.isValid).to.equal(false);
    expect(await queueOf(theirs)).to.deep.equal([]);
    open();
    expect(await running).to.equal('lost');
  });

  it('in a context settles the latest hold', async () => {
    const { mutex } = lab;
    await lockContext.run(async () => {
      const outer = await mutex.acquire();
      await mutex.withLock(async (inner) => {
        await mutex.release();
        expect(inner.isValid).to.equal(false);
        expect(outer.isValid).to.equal(true);
        await mutex.release();
        expect(outer.isValid).to.equal(false);
        await expectNotOwned(mutex.release());
      });
    });
  });

  it('lets the next waiter in the queue acquire the lock', async () => {
    const { mutex, theirs } = lab;
    await mutex.acquire();
    const next = theirs.acquire();
    await queueReaches(theirs, 2);
    await mutex.release();
    const hold = await next;
    await expectNotOwned(mutex.release());
    expect(hold.isValid).to.equal(true);
    await hold.release();
  });
});
