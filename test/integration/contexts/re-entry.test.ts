import { expect } from 'chai';
import { lockContext, type Hold } from '../../../src/index.ts';
import { labOfEachTest } from '../../../harness/lab.ts';
import { rejection } from '../../../harness/until.ts';
import { CriticalSection } from '../../../harness/critical-section.ts';
import { gate } from '../../../harness/gate.ts';
import { queueOf, queueReaches } from '../../../harness/queue.ts';

describe('re-entry', () => {
  const lab = labOfEachTest('re-entry');

  it('withLock in withLock in withLock is one znode and one token, and the znode goes with the outermost', async () => {
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

  it('acquire and release three deep in one context are one znode, which goes with the third release', async () => {
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

  it('the handles of one owner may be released in any order', async () => {
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

  it('tryAcquire, withLock and acquire re-enter each other', async () => {
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

  it('an inner withLock that outlives the outer one keeps the znode, re-enters, and keeps everybody else out', async () => {
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
      // A hold is no stream and no iterator: it may be returned.
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

  it('a handle that was acquired inside of a withLock keeps the znode when the withLock has settled', async () => {
    const { mutex, theirs, observer } = lab;
    const kept = await mutex.withLock(() => mutex.acquire());
    expect(kept.isValid).to.equal(true);
    expect(await theirs.tryAcquire()).to.equal(undefined);
    expect(await kept.release()).to.equal('released');
    expect(await observer.children(mutex.path)).to.deep.equal([]);
  });
});

describe('re-entry on the wire', () => {
  const lab = labOfEachTest('re-entry', { server: 'own', proxy: true });

  it('withLock in withLock in withLock sends nothing between the outermost grant and its release', async () => {
    const { mutex, proxy } = lab;
    const sent = await mutex.withLock(async (hold) => {
      // Its own znode is watched a moment after the grant.
      await proxy.seen(({ from, op, path }) => from === 'server' && op === 'getData' && path === hold.path);
      proxy.clear();
      await mutex.withLock(() => mutex.withLock(() => undefined));
      return lab.requests();
    });
    expect(sent).to.deep.equal([]);
    expect(await lab.requests()).to.deep.equal(['delete']);
  });

  it('acquire and release three deep create once and delete once', async () => {
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
