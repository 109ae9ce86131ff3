import { expect } from 'chai';
import { InterProcessMutex, lockContext } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { gate } from '../../../lab/gate.ts';
import { queueReaches, takeAway } from '../../../lab/queue.ts';

describe('the ownership queries', () => {
  const lab = labOfEachTest('owner-queries');

  const answers = (mutex = lab.mutex) => ({
    acquired: mutex.isAcquiredInThisProcess,
    owned: mutex.isOwnedByCurrentContext,
  });
  const noOwner = { acquired: false, owned: false };
  const anotherOwner = { acquired: true, owned: false };
  const thisContext = { acquired: true, owned: true };

  it('outside of contexts: a hold is acquired, and no context owns it', async () => {
    expect(answers()).to.deep.equal(noOwner);
    const hold = await lab.mutex.acquire();
    expect(answers()).to.deep.equal(anotherOwner);
    await hold.release();
    expect(answers()).to.deep.equal(noOwner);
  });

  it('while it waits: no owner', async () => {
    const theirHold = await lab.theirs.acquire();
    await lockContext.run(async () => {
      const acquiring = lab.mutex.acquire();
      await queueReaches(lab.theirs, 2);
      expect(answers()).to.deep.equal(noOwner);
      await theirHold.release();
      await using _hold = await acquiring;
      expect(answers()).to.deep.equal(thisContext);
    });
  });

  it('in a lockContext.run: this context, until the last release', async () => {
    await lockContext.run(async () => {
      expect(answers()).to.deep.equal(noOwner);
      await lab.mutex.acquire();
      await lab.mutex.acquire();
      expect(answers()).to.deep.equal(thisContext);
      await lab.mutex.release();
      expect(answers()).to.deep.equal(thisContext);
      await lab.mutex.release();
      expect(answers()).to.deep.equal(noOwner);
    });
  });

  it('in a withLock and in the functions that it calls: this context', async () => {
    const other = new InterProcessMutex(lab.client, `${lab.mutex.path}-other`);
    await lab.mutex.withLock(async () => {
      expect(answers()).to.deep.equal(thisContext);
      await other.withLock(() => {
        expect(answers()).to.deep.equal(thisContext);
        expect(answers(other)).to.deep.equal(thisContext);
      });
      expect(answers(other)).to.deep.equal(noOwner);
      await Promise.resolve().then(() => expect(answers()).to.deep.equal(thisContext));
    });
    expect(answers()).to.deep.equal(noOwner);
  });

  it('next to a withLock, and in a job inside it: another owner', async () => {
    const held = gate();
    const { opened, open } = gate();
    const running = lab.mutex.withLock(async () => {
      lockContext.run(() => expect(answers()).to.deep.equal(anotherOwner));
      held.open();
      await opened;
    });
    await held.opened;
    expect(answers()).to.deep.equal(anotherOwner);
    lockContext.run(() => expect(answers()).to.deep.equal(anotherOwner));
    open();
    await running;
  });

  it('in work whose context has died: another owner, even if its hold was not released', async () => {
    const { opened, open } = gate();
    let detached: Promise<unknown> | undefined;
    await using _left = await lockContext.run(async () => {
      detached = opened.then(() => answers());
      return lab.mutex.acquire();
    });
    open();
    expect(await detached).to.deep.equal(anotherOwner);
  });

  it('after a loss: no owner', async () => {
    await lockContext.run(async () => {
      const hold = await lab.mutex.acquire();
      await takeAway(hold, lab.observer);
      expect(answers()).to.deep.equal(noOwner);
      await hold.release();
      expect(answers()).to.deep.equal(noOwner);
    });
  });

  it('when a successor holds the lock while the lost hold is unreleased: another owner', async () => {
    await lockContext.run(async () => {
      await using lost = await lab.mutex.acquire();
      await takeAway(lost, lab.observer);
      await using _successor = await lockContext.run(() => lab.mutex.acquire());
      expect(answers()).to.deep.equal(anotherOwner);
    });
  });

  it('of another client: no owner', async () => {
    await lab.mutex.withLock(() => {
      expect(answers(lab.theirs)).to.deep.equal(noOwner);
    });
  });

  it('after the client was closed: no owner', async () => {
    await lockContext.run(async () => {
      const hold = await lab.mutex.acquire();
      await lab.client.close();
      expect(answers()).to.deep.equal(noOwner);
      expect(await hold.release()).to.equal('lost');
    });
  });
});
