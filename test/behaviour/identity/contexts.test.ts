import { expect } from 'chai';
import {
  DeadlockError,
  InterProcessMultiLock,
  InterProcessMutex,
  lockContext,
  LockLostError,
  NotOwnedError,
  type Hold,
} from '../../../src/index.ts';
import { CriticalSection } from '../../../lab/critical-section.ts';
import { gate } from '../../../lab/gate.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { queueOf, queueReaches, takeAway } from '../../../lab/queue.ts';
import { rejection, until } from '../../../lab/until.ts';
import { codeMs } from '../../../lab/world.ts';

describe('two objects of one lock', () => {
  const lab = labOfEachTest('identity');
  let twin: InterProcessMutex;
  beforeEach(() => (twin = new InterProcessMutex(lab.client, lab.path)));

  it('a withLock of one inside a withLock of the other re-enters: one znode, one token', async () => {
    await lab.mutex.withLock((outer) =>
      twin.withLock(async (inner) => {
        expect([inner.path, inner.fencingToken, inner.isReentrant]).to.deep.equal([
          outer.path,
          outer.fencingToken,
          true,
        ]);
        expect(await queueOf(lab.theirs)).to.deep.equal([outer.path]);
      }),
    );
    expect(await lab.observer.children(lab.mutex.path)).to.deep.equal([]);
  });

  it('an object that is created inside the job re-enters without a wait, by every method', async () => {
    await lab.mutex.withLock(async (outer) => {
      const made = (): InterProcessMutex => new InterProcessMutex(lab.client, lab.path);
      const holds = [
        await made().acquire(),
        await made().tryAcquire(),
        await made().acquire({ timeoutMs: 0 }),
        await made().withLock((hold) => hold),
        await lab.client.withLock(lab.path, (hold) => hold),
      ];
      expect(holds.map((hold) => hold?.path)).to.deep.equal(holds.map(() => outer.path));
      for (const hold of holds) await hold?.release();
    });
  });

  it('acquires and releases of both in one lockContext.run share one count', async () => {
    await lockContext.run(async () => {
      const holds = [await lab.mutex.acquire(), await twin.acquire(), await lab.mutex.acquire()] as const;
      expect([lab.mutex.holdCount, twin.holdCount]).to.deep.equal([3, 3]);
      expect(await twin.release()).to.equal('released');
      expect(holds.map((hold) => hold.isValid)).to.deep.equal([true, true, false]);
      expect(await lab.mutex.release()).to.equal('released');
      expect(holds.map((hold) => hold.isValid)).to.deep.equal([true, false, false]);
      expect(await lab.observer.children(lab.mutex.path)).to.have.length(1);
      expect(await twin.release()).to.equal('released');
      expect(await lab.observer.children(lab.mutex.path)).to.deep.equal([]);
      for (const one of [lab.mutex, twin]) expect(await rejection(one.release())).to.be.instanceOf(NotOwnedError);
    });
  });

  it('the hold of one keeps the znode after the other one has released its hold', async () => {
    await lockContext.run(async () => {
      const outer = await lab.mutex.acquire();
      const inner = await twin.acquire();
      await outer.release();
      await outer.release();
      expect([outer.isValid, inner.isValid]).to.deep.equal([false, true]);
      expect(await lab.theirs.tryAcquire()).to.equal(undefined);
      await inner.release();
      expect(await lab.observer.children(lab.mutex.path)).to.deep.equal([]);
    });
  });

  it('any live context that holds the lock lets the other object in', async () => {
    const between = new InterProcessMutex(lab.client, `${lab.path}-between`);
    await lab.mutex.withLock((outer) =>
      between.withLock(() => twin.withLock((inner) => expect(inner.path).to.equal(outer.path))),
    );
  });

  it('a context whose hold was lost by one object rejects the other object as well', async () => {
    await lockContext.run(async () => {
      const lost = await lab.mutex.acquire();
      await takeAway(lost, lab.observer);
      const ways = [
        twin.acquire(),
        twin.tryAcquire(),
        twin.acquire({ timeoutMs: 0 }),
        twin.withLock(() => undefined),
        lab.client.withLock(lab.path, () => undefined),
      ];
      for (const error of await Promise.all(ways.map(rejection)))
        expect(error).to.be.instanceOf(LockLostError).and.to.include({ path: lost.path, reason: 'node-deleted' });
      expect(await twin.release()).to.equal('lost');
      await using again = await twin.acquire();
      expect(again.isValid).to.equal(true);
    });
  });

  it('branches that a job starts are the same owner, even by the other object', async () => {
    const section = new CriticalSection(lab.theirs, 3);
    await lab.mutex.withLock(() =>
      Promise.all([lab.mutex, twin, twin].map((one) => one.withLock(() => section.visit()))),
    );
    expect(section).to.deep.include({ visits: 3, most: 3 });
  });

  it('siblings in one context queue up as separate owners', async () => {
    const section = new CriticalSection(lab.theirs, 3);
    await lockContext.run(() =>
      Promise.all(
        [lab.mutex, twin, new InterProcessMutex(lab.client, lab.path)].map((one) =>
          one.withLock(() => section.visit()),
        ),
      ),
    );
    expect(section).to.deep.include({ visits: 3, most: 1 });
  });

  it('jobs of one flow, outside of contexts, queue up as separate owners', async () => {
    const section = new CriticalSection(lab.theirs, 3);
    const job = async (one: InterProcessMutex): Promise<void> => {
      await using _hold = await one.acquire();
      await section.visit();
    };
    await Promise.all([lab.mutex, twin, new InterProcessMutex(lab.client, lab.path)].map(job));
    expect(section).to.deep.include({ visits: 3, most: 1 });
  });

  it('a lockContext.run inside a holder is a new owner, for the other object as well', async () => {
    await lab.mutex.withLock(async () => {
      await lockContext.run(async () => {
        expect([twin.isOwnedByCurrentContext, twin.isAcquiredInThisProcess]).to.deep.equal([false, true]);
        expect(await twin.tryAcquire()).to.equal(undefined);
        expect(await rejection(twin.release())).to.be.instanceOf(NotOwnedError);
        expect(await rejection(twin.acquire())).to.be.instanceOf(DeadlockError);
        expect((await rejection(twin.acquire({ timeoutMs: 20 }))).code).to.equal('ERR_LOCK_TIMEOUT');
      });
      expect(twin.isOwnedByCurrentContext).to.equal(true);
    });
  });

  it('each call of a bound handler is a new owner, and waits for the code around the call', async () => {
    const section = new CriticalSection(lab.theirs, 3);
    let handled: Promise<unknown> | undefined;
    await lab.mutex.withLock(async () => {
      const handler = lockContext.bind(() => twin.withLock(() => section.visit()));
      handled = Promise.all([handler(), handler()]);
      await section.visit();
    });
    await handled;
    expect(section).to.deep.include({ visits: 3, most: 1 });
  });

  it('work that outlives its context is outside of it, whichever object it uses', async () => {
    const { opened, open } = gate();
    let detached: Promise<Hold> | undefined;
    const left = await lockContext.run(async () => {
      detached = opened.then(() => {
        expect(twin.isOwnedByCurrentContext).to.equal(false);
        return twin.acquire();
      });
      return lab.mutex.acquire();
    });
    open();
    await queueReaches(lab.theirs, 2);
    // No live context owns the hold any more.
    expect(await lab.mutex.release()).to.equal('released');
    expect(left.isValid).to.equal(false);
    const hold = await detached;
    expect(hold?.path).to.not.equal(left.path);
    await hold?.release();
  });

  describe('in parallel first acquires', () => {
    it('use one znode, and all are granted', async () => {
      const gateHold = await lab.theirs.acquire();
      await lockContext.run(async () => {
        const acquiring = Promise.all([
          lab.mutex.acquire(),
          twin.acquire(),
          new InterProcessMutex(lab.client, lab.path).acquire(),
        ]);
        await queueReaches(lab.theirs, 2);
        expect(await lab.mutex.tryAcquire()).to.equal(undefined);
        await gateHold.release();
        const holds = await acquiring;
        expect(new Set(holds.map(({ path }) => path)).size).to.equal(1);
        expect(holds.map(({ isReentrant }) => isReentrant)).to.deep.equal([false, true, true]);
        for (const hold of holds) await hold.release();
      });
      expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    });

    it('do not fail together: if one gives up, the other gets the lock', async () => {
      const gateHold = await lab.theirs.acquire();
      await lockContext.run(async () => {
        const aborter = new AbortController();
        const first = rejection(lab.mutex.acquire({ signal: aborter.signal }));
        const second = twin.acquire();
        await queueReaches(lab.theirs, 2);
        const reason = new Error('changed my mind');
        aborter.abort(reason);
        expect(await first).to.equal(reason);
        await gateHold.release();
        await using hold = await second;
        expect(hold.isReentrant).to.equal(false);
      });
    });
  });

  describe('with release() outside of contexts', () => {
    it('of an object that holds nothing refuses to end a valid hold of the other', async () => {
      const hold = await lab.mutex.acquire();
      expect([twin.holdCount, twin.isAcquiredInThisProcess, twin.isOwnedByCurrentContext]).to.deep.equal([
        0,
        true,
        false,
      ]);
      expect(await rejection(twin.release())).to.be.instanceOf(NotOwnedError);
      expect([hold.isValid, lab.mutex.holdCount]).to.deep.equal([true, 1]);
      expect(await lab.mutex.release()).to.equal('released');
    });

    it('of an object that holds nothing settles the lost hold of another, and not its successor', async () => {
      const lost = await lab.mutex.acquire();
      await takeAway(lost, lab.observer);
      await using successor = await twin.acquire();
      expect(await new InterProcessMutex(lab.client, lab.path).release()).to.equal('lost');
      expect(successor.isValid).to.equal(true);
      expect(await rejection(new InterProcessMutex(lab.client, lab.path).release())).to.be.instanceOf(NotOwnedError);
      expect(successor.isValid).to.equal(true);
    });

    it('settles the own hold first, not that of another request', async () => {
      const lost = await lab.mutex.acquire();
      await takeAway(lost, lab.observer);
      const successor = await twin.acquire();
      expect(await twin.release()).to.equal('released');
      expect(successor.isValid).to.equal(false);
      expect(await lab.mutex.release()).to.equal('lost');
    });

    it('never ends a live context’s hold of the other object', async () => {
      const held = gate();
      const { opened, open } = gate();
      const running = lab.mutex.withLock(async (hold) => {
        held.open();
        await opened;
        return hold.isValid;
      });
      await held.opened;
      expect(await rejection(twin.release())).to.be.instanceOf(NotOwnedError);
      expect(twin.holdCount).to.equal(0);
      open();
      expect(await running).to.equal(true);
    });
  });

  it('of two clients are two locks', async () => {
    await lab.mutex.withLock(async () => {
      expect(await lab.theirs.tryAcquire()).to.equal(undefined);
      expect([
        lab.theirs.isOwnedByCurrentContext,
        lab.theirs.isAcquiredInThisProcess,
        lab.theirs.holdCount,
      ]).to.deep.equal([false, false, 0]);
      expect((await rejection(lab.theirs.acquire({ timeoutMs: 20 }))).code).to.equal('ERR_LOCK_TIMEOUT');
    });
  });

  it('a part of a multi-lock re-enters, and others re-enter it', async () => {
    const both = new InterProcessMultiLock([twin, new InterProcessMutex(lab.client, `${lab.path}-2`)]);
    await lab.mutex.withLock((outer) =>
      both.withLock(async ({ holds }) => {
        expect(holds[0]?.path).to.equal(outer.path);
        await new InterProcessMutex(lab.client, `${lab.path}-2`).withLock((inner) =>
          expect(inner.path).to.equal(holds[1]?.path),
        );
      }),
    );
  });

  it('the lease of an outer hold limits an inner hold of the other object', async () => {
    await lockContext.run(async () => {
      await using outer = await lab.mutex.acquire({ leaseMs: 60_000 });
      const inner = await twin.acquire();
      outer.renew(7_000);
      expect(inner.remainingMs).to.be.closeTo(7_000, codeMs);
      outer.renew(1);
      await until('both holds have ended', () => !outer.isValid && !inner.isValid);
      expect(await inner.release()).to.equal('lost');
    });
  });

  it('each object emits only the events of its own holds', async () => {
    const log: string[] = [];
    for (const [name, one] of [
      ['outer', lab.mutex],
      ['inner', twin],
    ] as const)
      for (const event of ['acquired', 'released'] as const)
        one.on(event, ({ hold }) => log.push(`${name} ${event} ${hold.isReentrant}`));
    await lab.mutex.withLock(() => twin.withLock(() => undefined));
    expect(log).to.deep.equal([
      'outer acquired false',
      'inner acquired true',
      'inner released true',
      'outer released false',
    ]);
  });
});
