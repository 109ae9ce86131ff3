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
    await lab.mutex.withLock(async (outer) => {
      expect(await rejection(lab.mutex.withLock(() => never, { leaseMs: 50 }))).to.include(expired);
      expect([outer.isValid, outer.signal.aborted]).to.deep.equal([true, false]);
      expect(await queueOf(lab.theirs)).to.deep.equal([outer.path]);
      expect(await lab.mutex.withLock(() => 'again')).to.equal('again');
    });
    expect(await queueOf(lab.theirs)).to.deep.equal([]);
  });

  it('ends the inner hold alone in a shared context, which still owns the lock', async () => {
    await lockContext.run(async () => {
      const outer = await lab.mutex.acquire();
      const inner = await lab.mutex.acquire({ leaseMs: 20 });
      expect(await aborted(inner.signal)).to.include(expired);
      expect([outer.isValid, lab.mutex.isOwnedByCurrentContext, lab.mutex.holdCount]).to.deep.equal([true, true, 1]);
      await (await lab.mutex.acquire()).release();
      expect(await lab.mutex.release(), 'the outcome of the latest hold, which is the inner one').to.equal('lost');
      expect(outer.isValid).to.equal(true);
      expect(await lab.mutex.release()).to.equal('released');
    });
  });

  it('ends the inner holds, too, when it is the outer one’s, even if they have longer leases', async () => {
    const inner: Promise<Error>[] = [];
    const entered = gate();
    const outer = rejection(
      lab.mutex.withLock(
        async () => {
          inner.push(
            rejection(lab.mutex.withLock(() => never)),
            rejection(lab.mutex.withLock(() => never, { leaseMs: 600_000 })),
          );
          entered.open();
          await never;
        },
        { leaseMs: 200 },
      ),
    );
    await entered.opened;
    await (await lab.theirs.acquire()).release();
    for (const error of [await outer, ...(await Promise.all(inner))]) {
      expect(error).to.be.instanceOf(LockLostError).and.to.include(expired);
      expect(error.message).to.contain('200 ms');
    }
  });

  it('of the outer hold limits the remaining time of the inner hold', async () => {
    await lockContext.run(async () => {
      await using outer = await lab.mutex.acquire({ leaseMs: 2_000 });
      await using inner = await lab.mutex.acquire({ leaseMs: 600_000 });
      expect(inner.remainingMs)
        .to.be.closeTo(outer.remainingMs, codeMs)
        .and.closeTo(2_000, 1 + codeMs);
      inner.renew(500);
      expect(inner.remainingMs).to.be.closeTo(500, codeMs);
      expect(outer.remainingMs).to.be.closeTo(2_000, 1 + codeMs);
    });
  });

  it('of the outer hold ends the inner hold when it is first read after a stall, before any timer has run', async () => {
    await lockContext.run(async () => {
      await using _outer = await lab.mutex.acquire({ leaseMs: 2_000 });
      await using inner = await lab.mutex.acquire({ leaseMs: 600_000 });
      lab.stall(2_000);
      expect(inner.isValid).to.equal(false);
    });
  });

  it('is renewed by an inner hold without a lease', async () => {
    await lockContext.run(async () => {
      await using outer = await lab.mutex.acquire({ leaseMs: 2_000 });
      await using inner = await lab.mutex.acquire();
      inner.renew(5_000);
      expect(outer.remainingMs).to.be.closeTo(5_000, codeMs);
    });
  });

  it('continues for an inner hold after the outer hold was released', async () => {
    await lockContext.run(async () => {
      const outer = await lab.mutex.acquire({ leaseMs: 2_000 });
      const inner = await lab.mutex.acquire();
      expect(await outer.release()).to.equal('released');
      expect(await queueOf(lab.theirs)).to.deep.equal([inner.path]);
      expect(await aborted(inner.signal)).to.include(expired);
      expect(outer.signal.aborted).to.equal(false);
    });
    await (await lab.theirs.acquire()).release();
  });

  it('ends once: the release of an expired hold releases no other hold', async () => {
    await lockContext.run(async () => {
      const outer = await lab.mutex.acquire();
      const inner = await lab.mutex.acquire({ leaseMs: 50 });
      await aborted(inner.signal);
      expect(await inner.release()).to.equal('lost');
      expect(outer.isValid).to.equal(true);
      expect(await outer.release()).to.equal('released');
      await queueReaches(lab.theirs, 0);
    });
  });

  it('ends all holds below it before another client is granted the lock', async () => {
    await lockContext.run(async () => {
      const holds: Hold[] = [
        await lab.mutex.acquire({ leaseMs: 300 }),
        await lab.mutex.acquire(),
        await lab.mutex.acquire(),
      ];
      const order: string[] = [];
      holds.forEach((hold, index) =>
        hold.signal.addEventListener('abort', () =>
          order.push(`${index} ${holds.map(({ isValid }) => isValid).join()}`),
        ),
      );
      const next = lockContext.run(() => lab.theirs.acquire());
      await (await next).release();
      expect(order).to.have.length(3);
      for (const seen of order) expect(seen).to.contain('false,false,false');
    });
  });

  it('of a writer does not end the read hold of its downgrade', async () => {
    const rw = new InterProcessReadWriteLock(lab.client, `${lab.mutex.path}-rw`);
    await lockContext.run(async () => {
      const writing = await rw.writeLock.acquire({ leaseMs: 600_000 });
      await using reading = await rw.readLock.acquire({ leaseMs: 600_000 });
      writing.renew(50);
      expect(await aborted(writing.signal)).to.include(expired);
      expect([reading.isValid, reading.fencingToken]).to.deep.equal([true, writing.fencingToken]);
    });
  });

  it('does not change isReentrant and holdCount of other holds', async () => {
    expect(lab.mutex.holdCount).to.equal(0);
    const outside = lab.mutex.acquire({ timeoutMs: 10_000 });
    await (await outside).release();
    await lockContext.run(async () => {
      const outer = await lab.mutex.acquire();
      expect([outer.isReentrant, lab.mutex.holdCount]).to.deep.equal([false, 1]);
      await lab.mutex.withLock(async (inner) => {
        expect([inner.isReentrant, lab.mutex.holdCount]).to.deep.equal([true, 2]);
        await using innermost = await lab.mutex.acquire({ leaseMs: 20 });
        expect(lab.mutex.holdCount).to.equal(3);
        await aborted(innermost.signal);
        expect(lab.mutex.holdCount).to.equal(2);
      });
      lockContext.run(() => expect(lab.mutex.holdCount).to.equal(0));
      expect(lab.mutex.holdCount).to.equal(1);
      await outer.release();
      expect(lab.mutex.holdCount).to.equal(0);
    });
    const hold = await lab.mutex.acquire();
    expect([hold.isReentrant, lab.mutex.holdCount]).to.deep.equal([false, 1]);
    await hold.release();
    expect(lab.mutex.holdCount).to.equal(0);
  });
});
