import { expect } from 'chai';
import { lockContext, type Hold } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection } from '../../../lab/until.ts';
import { CriticalSection } from '../../../lab/critical-section.ts';
import { gate } from '../../../lab/gate.ts';
import { queueOf, queueReaches } from '../../../lab/queue.ts';

describe('re-entry', () => {
  const lab = labOfEachTest('re-entry');

  it('with three nested withLocks uses one znode and one token, and the outermost end deletes the znode', async () => {
    const depth = await lab.mutex.withLock((first) =>
      lab.mutex.withLock((second) =>
        lab.mutex.withLock(async (third) => {
          expect([second.path, third.path]).to.deep.equal([first.path, first.path]);
          expect([second.fencingToken, third.fencingToken]).to.deep.equal([first.fencingToken, first.fencingToken]);
          expect(await queueOf(lab.theirs)).to.deep.equal([first.path]);
          return 3;
        }),
      ),
    );
    expect(depth).to.equal(3);
    expect(await lab.observer.children(lab.mutex.path)).to.deep.equal([]);
  });

  it('with three acquires in one context uses one znode, which the third release deletes', async () => {
    await lockContext.run(async () => {
      const holds = [await lab.mutex.acquire(), await lab.mutex.acquire(), await lab.mutex.acquire()] as const;
      const [{ path }] = holds;
      const validities = (): boolean[] => holds.map((hold) => hold.isValid);
      expect(await queueOf(lab.theirs)).to.deep.equal([path]);

      expect(await lab.mutex.release()).to.equal('released');
      expect(validities()).to.deep.equal([true, true, false]);
      expect(await lab.mutex.release()).to.equal('released');
      expect(validities()).to.deep.equal([true, false, false]);
      expect(await queueOf(lab.theirs)).to.deep.equal([path]);

      expect(await lab.mutex.release()).to.equal('released');
      expect(validities()).to.deep.equal([false, false, false]);
      expect(await lab.observer.children(lab.mutex.path)).to.deep.equal([]);
      expect((await rejection(lab.mutex.release())).code).to.equal('ERR_LOCK_NOT_OWNED');
    });
  });

  it('lets an owner release its holds in any order', async () => {
    await lockContext.run(async () => {
      const outer = await lab.mutex.acquire();
      const inner = await lab.mutex.acquire();
      await outer.release();
      expect(inner.isValid).to.equal(true);
      expect(await queueOf(lab.theirs)).to.deep.equal([inner.path]);
      await inner.release();
      expect(await lab.observer.children(lab.mutex.path)).to.deep.equal([]);
    });
  });

  it('mixes tryAcquire, withLock and acquire', async () => {
    await lockContext.run(async () => {
      const tried = await lab.mutex.tryAcquire();
      await lab.mutex.withLock(async () => {
        await using acquired = await lab.mutex.acquire({ timeoutMs: 0 });
        expect(acquired.path).to.equal(tried?.path);
        expect(await queueOf(lab.theirs)).to.deep.equal([acquired.path]);
      });
      await tried?.release();
    });
  });

  it('by an inner withLock that outlives the outer one keeps the znode, and no other client gets in', async () => {
    const section = new CriticalSection(lab.theirs, 2);
    const { opened, open } = gate();
    let inner: Promise<Hold> | undefined;
    const outer = await lab.mutex.withLock(async (hold) => {
      inner = lab.mutex.withLock(async (own) => {
        await opened;
        await lab.mutex.withLock(() => section.visit());
        expect(own.isValid).to.equal(true);
        return own;
      });
      // A hold is neither a stream nor an iterator: a job may return it.
      return hold;
    });
    expect(outer.isValid).to.equal(false);
    const next = lab.theirs.withLock(() => section.visit());
    await queueReaches(lab.theirs, 2);
    expect((await queueOf(lab.theirs))[0]).to.equal(outer.path);

    open();
    expect((await inner)?.path).to.equal(outer.path);
    await next;
    expect(section).to.deep.include({ visits: 2, most: 1 });
  });

  it('by an acquire inside a withLock keeps the znode after the withLock has settled', async () => {
    const kept = await lab.mutex.withLock(() => lab.mutex.acquire());
    expect(kept.isValid).to.equal(true);
    expect(await lab.theirs.tryAcquire()).to.equal(undefined);
    expect(await kept.release()).to.equal('released');
    expect(await lab.observer.children(lab.mutex.path)).to.deep.equal([]);
  });
});

describe('the requests of a re-entry', () => {
  const lab = labOfEachTest('re-entry', { server: 'own', proxy: true });

  it('with three nested withLocks: none between the outermost grant and its release', async () => {
    const sent = await lab.mutex.withLock(async (hold) => {
      // The znode of the hold is watched shortly after the grant.
      await lab.proxy.seen(({ from, op, path }) => from === 'server' && op === 'getData' && path === hold.path);
      lab.proxy.clear();
      await lab.mutex.withLock(() => lab.mutex.withLock(() => undefined));
      return lab.requests();
    });
    expect(sent).to.deep.equal([]);
    expect(await lab.requests()).to.deep.equal(['delete']);
  });

  it('with three acquires and releases: one create and one delete', async () => {
    await lab.mutex.withLock(() => undefined);
    lab.proxy.clear();
    await lockContext.run(async () => {
      for (let depth = 0; depth < 3; depth += 1) await lab.mutex.acquire();
      for (let depth = 0; depth < 3; depth += 1) await lab.mutex.release();
    });
    const writes = (await lab.requests()).filter((op) => op !== 'getChildren2' && op !== 'getData');
    expect(writes).to.deep.equal(['create2', 'delete']);
  });
});
