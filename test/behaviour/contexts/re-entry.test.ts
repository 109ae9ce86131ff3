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
    const { mutex, theirs, observer } = lab;
    const depth = await mutex.withLock((first) =>
      mutex.withLock((second) =>
        mutex.withLock(async (third) => {
          expect([second.path, third.path]).to.deep.equal([first.path, first.path]);
          expect([second.fencingToken, third.fencingToken]).to.deep.equal([first.fencingToken, first.fencingToken]);
          expect(await queueOf(theirs)).to.deep.equal([first.path]);
          return 3;
        }),
      ),
    );
    expect(depth).to.equal(3);
    expect(await observer.children(mutex.path)).to.deep.equal([]);
  });

  it('with three acquires in one context uses one znode, which the third release deletes', async () => {
    const { mutex, theirs, observer } = lab;
    await lockContext.run(async () => {
      const holds = [await mutex.acquire(), await mutex.acquire(), await mutex.acquire()] as const;
      const [{ path }] = holds;
      const validities = (): boolean[] => holds.map((hold) => hold.isValid);
      expect(await queueOf(theirs)).to.deep.equal([path]);

      expect(await mutex.release()).to.equal('released');
      expect(validities()).to.deep.equal([true, true, false]);
      expect(await mutex.release()).to.equal('released');
      expect(validities()).to.deep.equal([true, false, false]);
      expect(await queueOf(theirs)).to.deep.equal([path]);

      expect(await mutex.release()).to.equal('released');
      expect(validities()).to.deep.equal([false, false, false]);
      expect(await observer.children(mutex.path)).to.deep.equal([]);
      expect((await rejection(mutex.release())).code).to.equal('ERR_LOCK_NOT_OWNED');
    });
  });

  it('lets an owner release its holds in any order', async () => {
    const { mutex, theirs, observer } = lab;
    await lockContext.run(async () => {
      const outer = await mutex.acquire();
      const inner = await mutex.acquire();
      await outer.release();
      expect(inner.isValid).to.equal(true);
      expect(await queueOf(theirs)).to.deep.equal([inner.path]);
      await inner.release();
      expect(await observer.children(mutex.path)).to.deep.equal([]);
    });
  });

  it('mixes tryAcquire, withLock and acquire', async () => {
    const { mutex, theirs } = lab;
    await lockContext.run(async () => {
      const tried = await mutex.tryAcquire();
      await mutex.withLock(async () => {
        const acquired = await mutex.acquire({ timeoutMs: 0 });
        expect(acquired.path).to.equal(tried?.path);
        expect(await queueOf(theirs)).to.deep.equal([acquired.path]);
        await acquired.release();
      });
      await tried?.release();
    });
  });

  it('by an inner withLock that outlives the outer one keeps the znode, and no other client gets in', async () => {
    const { mutex, theirs } = lab;
    const section = new CriticalSection(theirs, 2);
    const { opened, open } = gate();
    let inner: Promise<Hold> | undefined;
    const outer = await mutex.withLock(async (hold) => {
      inner = mutex.withLock(async (own) => {
        await opened;
        await mutex.withLock(() => section.visit());
        expect(own.isValid).to.equal(true);
        return own;
      });
      // A hold is neither a stream nor an iterator: a job may return it.
      return hold;
    });
    expect(outer.isValid).to.equal(false);
    const next = theirs.withLock(() => section.visit());
    await queueReaches(theirs, 2);
    expect((await queueOf(theirs))[0]).to.equal(outer.path);

    open();
    expect((await inner)?.path).to.equal(outer.path);
    await next;
    expect(section).to.deep.include({ visits: 2, most: 1 });
  });

  it('by an acquire inside a withLock keeps the znode after the withLock has settled', async () => {
    const { mutex, theirs, observer } = lab;
    const kept = await mutex.withLock(() => mutex.acquire());
    expect(kept.isValid).to.equal(true);
    expect(await theirs.tryAcquire()).to.equal(undefined);
    expect(await kept.release()).to.equal('released');
    expect(await observer.children(mutex.path)).to.deep.equal([]);
  });
});

describe('the requests of a re-entry', () => {
  const lab = labOfEachTest('re-entry', { server: 'own', proxy: true });

  it('with three nested withLocks: none between the outermost grant and its release', async () => {
    const { mutex, proxy } = lab;
    const sent = await mutex.withLock(async (hold) => {
      // The znode of the hold is watched shortly after the grant.
      await proxy.seen(({ from, op, path }) => from === 'server' && op === 'getData' && path === hold.path);
      proxy.clear();
      await mutex.withLock(() => mutex.withLock(() => undefined));
      return lab.requests();
    });
    expect(sent).to.deep.equal([]);
    expect(await lab.requests()).to.deep.equal(['delete']);
  });

  it('with three acquires and releases: one create and one delete', async () => {
    const { mutex, proxy } = lab;
    await mutex.withLock(() => undefined);
    proxy.clear();
    await lockContext.run(async () => {
      for (let depth = 0; depth < 3; depth += 1) await mutex.acquire();
      for (let depth = 0; depth < 3; depth += 1) await mutex.release();
    });
    const writes = (await lab.requests()).filter((op) => op !== 'getChildren2' && op !== 'getData');
    expect(writes).to.deep.equal(['create2', 'delete']);
  });
});
