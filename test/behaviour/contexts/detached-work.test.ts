import { expect } from 'chai';
import { InterProcessMutex, lockContext, type Hold } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection } from '../../../lab/until.ts';
import { CriticalSection } from '../../../lab/critical-section.ts';
import { gate } from '../../../lab/gate.ts';
import { queueOf, queueReaches } from '../../../lab/queue.ts';

describe('work that outlives its context', () => {
  const lab = labOfEachTest('detached');

  it('queues as a separate owner after its withLock has settled', async () => {
    const section = new CriticalSection(lab.theirs, 3);
    const { opened, open } = gate();
    let detached: Promise<unknown> | undefined;
    await lab.mutex.withLock(() => {
      const visit = (): Promise<void> => opened.then(() => lab.mutex.withLock(() => section.visit()));
      detached = Promise.all([visit(), visit()]);
    });
    const visit = lab.theirs.withLock(() => {
      open();
      return section.visit();
    });
    await Promise.all([visit, detached]);
    expect(section).to.deep.include({ visits: 3, most: 1 });
  });

  it('does not share a hold that its dead context has not released', async () => {
    const { opened, open } = gate();
    let left: Hold | undefined;
    let detached: Promise<Hold> | undefined;
    await lockContext.run(async () => {
      left = await lab.mutex.acquire();
      detached = opened.then(async () => {
        expect(lab.mutex.isOwnedByCurrentContext).to.equal(false);
        expect(await lab.mutex.tryAcquire()).to.equal(undefined);
        return lab.mutex.acquire();
      });
    });
    open();
    await queueReaches(lab.theirs, 2);
    expect(left?.isValid).to.equal(true);
    await left?.release();
    expect((await detached)?.path).to.not.equal(left?.path);
    await (await detached)?.release();
  });

  it('gets NotOwnedError without a hold, and may release the hold of its dead context', async () => {
    const { opened, open } = gate();
    let detached: Promise<string[]> | undefined;
    const left = await lockContext.run(async () => {
      detached = opened.then(async () => [
        await lab.mutex.release(),
        (await rejection(lab.mutex.release())).message.slice(0, `You do not own the lock: ${lab.mutex.path}`.length),
      ]);
      return lab.mutex.acquire();
    });
    open();
    expect(await detached).to.deep.equal(['released', `You do not own the lock: ${lab.mutex.path}`]);
    expect(left.isValid).to.equal(false);
    expect(await queueOf(lab.theirs)).to.deep.equal([]);
  });

  it('still owns the lock if a live context around the dead one holds it', async () => {
    await lab.mutex.withLock(async (hold) => {
      let detached: Promise<string> | undefined;
      const { opened, open } = gate();
      await lab.mutex.withLock(() => {
        detached = opened.then(() => lab.mutex.withLock(({ path }) => path));
      });
      open();
      expect(await detached).to.equal(hold.path);
      expect(await queueOf(lab.theirs)).to.deep.equal([hold.path]);
    });
  });

  it('belongs to the job around its dead withLock', async () => {
    const other = new InterProcessMutex(lab.client, testPath('around'));
    await lockContext.run(async () => {
      let detached: Promise<Hold> | undefined;
      const { opened, open } = gate();
      await other.withLock(() => {
        detached = opened.then(() => lab.mutex.acquire());
      });
      open();
      const hold = await detached;
      expect(lab.mutex.isOwnedByCurrentContext).to.equal(true);
      expect((await lab.mutex.acquire()).path).to.equal(hold?.path);
      await lab.mutex.release();
      await lab.mutex.release();
      expect(hold?.isValid).to.equal(false);
    });
  });

  for (const [scope, inside] of [
    ['a lockContext.run', (work: () => void) => lockContext.run(work)],
    [
      'a withLock in a lockContext.run',
      (work: () => void) => lockContext.run(() => new InterProcessMutex(lab.client, testPath('inner')).withLock(work)),
    ],
    ['a lockContext.run in a lockContext.run', (work: () => void) => lockContext.run(() => lockContext.run(work))],
  ] as const)
    it(`of ${scope} does not become the holder around it`, async () => {
      await lab.mutex.withLock(async (hold) => {
        let detached: Promise<unknown> | undefined;
        const { opened, open } = gate();
        await inside(() => {
          detached = opened.then(async () => {
            expect(lab.mutex.isOwnedByCurrentContext).to.equal(false);
            expect(await lab.mutex.tryAcquire()).to.equal(undefined);
            // A withLock opens a new context, and the ended contexts around it still separate the owners.
            expect((await rejection(lab.mutex.withLock(() => undefined, { timeoutMs: 0 }))).code).to.equal(
              'ERR_LOCK_TIMEOUT',
            );
          });
        });
        open();
        await detached;
        expect(hold.isValid).to.equal(true);
      });
    });

  it('whose acquire is granted after its context died holds outside of every context', async () => {
    const gateHold = await lab.theirs.acquire();
    let acquiring: Promise<Hold> | undefined;
    lockContext.run(() => {
      acquiring = lab.mutex.acquire();
    });
    await queueReaches(lab.theirs, 2);
    await gateHold.release();
    const hold = await acquiring;
    expect(hold?.isValid).to.equal(true);
    expect(await lab.mutex.release()).to.equal('released');
    expect(hold?.isValid).to.equal(false);
  });
});
