import { expect } from 'chai';
import { InterProcessReadWriteLock, lockContext, LockLostError, type Hold } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { aborted, rejection } from '../../../lab/until.ts';
import { gate } from '../../../lab/gate.ts';
import { queueOf, queueReaches } from '../../../lab/queue.ts';
import { codeMs } from '../../../lab/world.ts';

const expired = { code: 'ERR_LOCK_LOST', reason: 'lease-expired' };
const never = new Promise<never>(() => undefined);

describe('a lease with re-entry', () => {
  const lab = labOfEachTest('lease-re-entry');

  it('ends the inner hold alone, if the inner hold has it', async () => {
    const { mutex, theirs } = lab;
    await mutex.withLock(async (outer) => {
      expect(await rejection(mutex.withLock(() => never, { leaseMs: 50 }))).to.include(expired);
      expect([outer.isValid, outer.signal.aborted]).to.deep.equal([true, false]);
      expect(await queueOf(theirs)).to.deep.equal([outer.path]);
      expect(await mutex.withLock(() => 'again')).to.equal('again');
    });
    expect(await queueOf(theirs)).to.deep.equal([]);
  });

  it('ends the inner hold alone in a shared context, which still owns the lock', async () => {
    const { mutex } = lab;
    await lockContext.run(async () => {
      const outer = await mutex.acquire();
      const inner = await mutex.acquire({ leaseMs: 20 });
      expect(await aborted(inner.signal)).to.include(expired);
      expect([outer.isValid, mutex.isOwnedByCurrentContext, mutex.holdCount]).to.deep.equal([true, true, 1]);
      await (await mutex.acquire()).release();
      expect(await mutex.release(), 'the outcome of the latest hold, which is the inner one').to.equal('lost');
      expect(outer.isValid).to.equal(true);
      expect(await mutex.release()).to.equal('released');
    });
  });

  it('ends the inner holds, too, when it is the outer one’s, even if they have longer leases', async () => {
    const { mutex, theirs } = lab;
    const inner: Promise<Error>[] = [];
    const entered = gate();
    const outer = rejection(
      mutex.withLock(
        async () => {
          inner.push(
            rejection(mutex.withLock(() => never)),
            rejection(mutex.withLock(() => never, { leaseMs: 600_000 })),
          );
          entered.open();
          await never;
        },
        { leaseMs: 200 },
      ),
    );
    await entered.opened;
    await (await theirs.acquire()).release();
    for (const error of [await outer, ...(await Promise.all(inner))]) {
      expect(error).to.be.instanceOf(LockLostError).and.to.include(expired);
      expect(error.message).to.contain('200 ms');
    }
  });

  it('of the outer hold limits the remaining time of the inner hold', async () => {
    const { mutex } = lab;
    await lockContext.run(async () => {
      const outer = await mutex.acquire({ leaseMs: 2_000 });
      const inner = await mutex.acquire({ leaseMs: 600_000 });
      expect(inner.remainingMs)
        .to.be.closeTo(outer.remainingMs, codeMs)
        .and.closeTo(2_000, 1 + codeMs);
      inner.renew(500);
      expect(inner.remainingMs).to.be.closeTo(500, codeMs);
      expect(outer.remainingMs).to.be.closeTo(2_000, 1 + codeMs);
      await inner.release();
      await outer.release();
    });
  });

  it('is renewed by an inner hold without a lease', async () => {
    const { mutex } = lab;
    await lockContext.run(async () => {
      const outer = await mutex.acquire({ leaseMs: 2_000 });
      const inner = await mutex.acquire();
      inner.renew(5_000);
      expect(outer.remainingMs).to.be.closeTo(5_000, codeMs);
      await inner.release();
      await outer.release();
    });
  });

  it('continues for an inner hold after the outer hold was released', async () => {
    const { mutex, theirs } = lab;
    await lockContext.run(async () => {
      const outer = await mutex.acquire({ leaseMs: 2_000 });
      const inner = await mutex.acquire();
      expect(await outer.release()).to.equal('released');
      expect(await queueOf(theirs)).to.deep.equal([inner.path]);
      expect(await aborted(inner.signal)).to.include(expired);
      expect(outer.signal.aborted).to.equal(false);
    });
    await (await theirs.acquire()).release();
  });

  it('ends once: the release of an expired hold releases no other hold', async () => {
    const { mutex, theirs } = lab;
    await lockContext.run(async () => {
      const outer = await mutex.acquire();
      const inner = await mutex.acquire({ leaseMs: 50 });
      await aborted(inner.signal);
      expect(await inner.release()).to.equal('lost');
      expect(outer.isValid).to.equal(true);
      expect(await outer.release()).to.equal('released');
      await queueReaches(theirs, 0);
    });
  });

  it('ends all holds below it before another client is granted the lock', async () => {
    const { mutex, theirs } = lab;
    await lockContext.run(async () => {
      const holds: Hold[] = [await mutex.acquire({ leaseMs: 300 }), await mutex.acquire(), await mutex.acquire()];
      const order: string[] = [];
      holds.forEach((hold, index) =>
        hold.signal.addEventListener('abort', () =>
          order.push(`${index} ${holds.map(({ isValid }) => isValid).join()}`),
        ),
      );
      const next = lockContext.run(() => theirs.acquire());
      await (await next).release();
      expect(order).to.have.length(3);
      for (const seen of order) expect(seen).to.contain('false,false,false');
    });
  });

  it('of a writer does not end the read hold of its downgrade', async () => {
    const { client, mutex } = lab;
    const rw = new InterProcessReadWriteLock(client, `${mutex.path}-rw`);
    await lockContext.run(async () => {
      const writing = await rw.writeLock.acquire({ leaseMs: 600_000 });
      const reading = await rw.readLock.acquire({ leaseMs: 600_000 });
      writing.renew(50);
      expect(await aborted(writing.signal)).to.include(expired);
      expect([reading.isValid, reading.fencingToken]).to.deep.equal([true, writing.fencingToken]);
      await reading.release();
    });
  });

  it('does not change isReentrant and holdCount of other holds', async () => {
    const { mutex } = lab;
    expect(mutex.holdCount).to.equal(0);
    const outside = mutex.acquire({ timeoutMs: 10_000 });
    await (await outside).release();
    await lockContext.run(async () => {
      const outer = await mutex.acquire();
      expect([outer.isReentrant, mutex.holdCount]).to.deep.equal([false, 1]);
      await mutex.withLock(async (inner) => {
        expect([inner.isReentrant, mutex.holdCount]).to.deep.equal([true, 2]);
        const innermost = await mutex.acquire({ leaseMs: 20 });
        expect(mutex.holdCount).to.equal(3);
        await aborted(innermost.signal);
        expect(mutex.holdCount).to.equal(2);
        await innermost.release();
      });
      lockContext.run(() => expect(mutex.holdCount).to.equal(0));
      expect(mutex.holdCount).to.equal(1);
      await outer.release();
      expect(mutex.holdCount).to.equal(0);
    });
    const hold = await mutex.acquire();
    expect([hold.isReentrant, mutex.holdCount]).to.deep.equal([false, 1]);
    await hold.release();
    expect(mutex.holdCount).to.equal(0);
  });
});
