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
    const lost = gate();
    const succeeded = gate();
    const late = (async () => {
      const hold = await lab.mutex.acquire();
      let outcome: unknown;
      try {
        await takeAway(hold, lab.observer);
        lost.open();
        await succeeded.opened;
      } finally {
        outcome = await lab.mutex.release();
      }
      return outcome;
    })();
    await lost.opened;
    const successor = await lab.mutex.acquire();
    succeeded.open();

    expect(await late).to.equal('lost');
    expect(successor.isValid).to.equal(true);
    expect(await queueOf(lab.theirs)).to.deep.equal([successor.path]);
    expect(await lab.mutex.release()).to.equal('released');
    expect(successor.isValid).to.equal(false);
    expect(await queueOf(lab.theirs)).to.deep.equal([]);
    await expectNotOwned(lab.mutex.release());
  });

  it('outside of contexts settles the oldest hold first, one at a time', async () => {
    await takeAway(await lab.mutex.acquire(), lab.observer);
    await takeAway(await lab.mutex.acquire(), lab.observer);
    const valid = await lab.mutex.acquire();
    const outcomes = [await lab.mutex.release(), await lab.mutex.release(), await lab.mutex.release()];
    expect(outcomes).to.deep.equal(['lost', 'lost', 'released']);
    expect(valid.isValid).to.equal(false);
    await expectNotOwned(lab.mutex.release());
  });

  it('by a client that does not own the lock is refused with Curator’s message', async () => {
    await expectNotOwned(lab.mutex.release());
    const hold = await lab.mutex.acquire();
    await expectNotOwned(lab.theirs.release());
    await hold.release();
    await expectNotOwned(lab.mutex.release());
  });

  it('in a context without a hold is refused, even if another owner holds the lock', async () => {
    await using outsideOfContexts = await lab.mutex.acquire();
    await lockContext.run(() => expectNotOwned(lab.mutex.release()));
    await new InterProcessMutex(lab.client, `${lab.mutex.path}-another`).withLock(() =>
      expectNotOwned(lab.mutex.release()),
    );
    expect(outsideOfContexts.isValid).to.equal(true);
    expect(await queueOf(lab.theirs)).to.deep.equal([outsideOfContexts.path]);
  });

  it('in a nested lockContext.run is refused, because the job around it is another owner', async () => {
    await lockContext.run(async () => {
      const hold = await lab.mutex.acquire();
      await lockContext.run(() => expectNotOwned(lab.mutex.release()));
      expect(hold.isValid).to.equal(true);
      await lab.mutex.release();
    });
  });

  it('outside of contexts never ends the hold of a live withLock', async () => {
    const held = gate();
    const { opened, open } = gate();
    const running = lab.mutex.withLock(async (hold) => {
      held.open();
      await opened;
      return hold.isValid;
    });
    await held.opened;
    await expectNotOwned(lab.mutex.release());
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
    const held = gate();
    const { opened, open } = gate();
    const running = lockContext.run(async () => {
      const hold = await lab.mutex.acquire();
      await takeAway(hold, lab.observer);
      held.open();
      await opened;
      return lab.mutex.release();
    });
    await held.opened;
    const successor = await lab.mutex.acquire();
    expect(await lab.mutex.release()).to.equal('released');
    expect(successor.isValid).to.equal(false);
    expect(await queueOf(lab.theirs)).to.deep.equal([]);
    open();
    expect(await running).to.equal('lost');
  });

  it('in a context settles the latest hold', async () => {
    await lockContext.run(async () => {
      const outer = await lab.mutex.acquire();
      await lab.mutex.withLock(async (inner) => {
        await lab.mutex.release();
        expect(inner.isValid).to.equal(false);
        expect(outer.isValid).to.equal(true);
        await lab.mutex.release();
        expect(outer.isValid).to.equal(false);
        await expectNotOwned(lab.mutex.release());
      });
    });
  });

  it('lets the next waiter in the queue acquire the lock', async () => {
    await lab.mutex.acquire();
    const next = lab.theirs.acquire();
    await queueReaches(lab.theirs, 2);
    await lab.mutex.release();
    await using hold = await next;
    await expectNotOwned(lab.mutex.release());
    expect(hold.isValid).to.equal(true);
  });
});
