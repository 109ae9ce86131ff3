import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  lockContext,
  revoke,
  StandardDriver,
  DeadlockError,
  type Hold,
  type InterProcessMutexOptions,
  type LockDriver,
} from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { queueOf, queueReaches } from '../../../lab/queue.ts';
import { isNoNode } from '../../../lab/wire/plain-client.ts';
import { rejection, until } from '../../../lab/until.ts';

class LastLetter extends StandardDriver {}

/** Curator's order, in an object without a class. */
const plain = (): LockDriver => {
  const standard = new StandardDriver();
  return {
    lockName: 'lock-',
    appendOnly: true,
    sort: (children) => standard.sort(children),
    decide: (sorted, ours) => standard.decide(sorted, ours),
  };
};

describe('objects with different options', () => {
  const lab = labOfEachTest('kinds');

  const of = (options?: InterProcessMutexOptions): InterProcessMutex =>
    new InterProcessMutex(lab.client, lab.path, options);

  const different: [string, InterProcessMutexOptions, string][] = [
    ['sticky', { sticky: { idleMs: 5_000 } }, '{ sticky: { idleMs: 5000 } }'],
    ['weights', { weights: { overtakesPerWeight: 3 } }, '{ weights: { overtakesPerWeight: 3 } }'],
    ['a driver of a class', { driver: new LastLetter() }, '{ driver: LastLetter of "lock-" }'],
    ['a driver', { driver: plain() }, '{ driver: one of "lock-" }'],
    ['foreignNodes', { foreignNodes: 'wait' }, "{ foreignNodes: 'wait' }"],
    ['two options', { foreignNodes: 'wait', sticky: { idleMs: 0 } }, "{ sticky: { idleMs: 0 }, foreignNodes: 'wait' }"],
  ];

  for (const [option, options, described] of different)
    it(`by ${option} are refused with both named while one is in use`, async () => {
      const [first, other] = [of(), of(options)];
      const refusals = async (one: InterProcessMutex, used: string, got: string): Promise<void> => {
        for (const refused of [
          one.acquire(),
          one.tryAcquire(),
          one.acquire({ timeoutMs: 5_000 }),
          one.withLock(() => undefined),
        ]) {
          const error = await rejection(refused);
          expect(error).to.be.instanceOf(RangeError);
          expect(error.message).to.equal(
            `Expected the options of the lock ${lab.path} to be ${used}, as another object of this client uses it, got ${got}. Objects of one path are one lock: give them the same options`,
          );
        }
        expect([one.isOwnedByCurrentContext, one.isAcquiredInThisProcess, one.holdCount]).to.deep.equal([
          false,
          false,
          0,
        ]);
        expect((await rejection(one.release())).code).to.equal('ERR_LOCK_NOT_OWNED');
      };
      await first.withLock(async () => {
        await refusals(other, '{}', described);
        expect(await lab.observer.children(lab.path)).to.have.length(1);
      });
      const hold = await first.acquire();
      await refusals(other, '{}', described);
      await hold.release();
      await other.withLock(() => refusals(first, described, '{}'));
    });

  it('may be used one after the other', async () => {
    for (const [, options] of different) {
      const held = await of(options).acquire();
      await held.release();
      // A sticky lock counts as used while it is kept. A plain lock is already deleted.
      await lab.observer.remove(held.path).catch((error: unknown) => expect(isNoNode(error)).to.equal(true));
      await until('the next object may use the path', async () =>
        of()
          .withLock(() => true)
          .catch(() => false),
      );
    }
  });

  it('are refused while one of them waits', async () => {
    const hold = await lab.theirs.acquire();
    const waiting = of().acquire();
    await queueReaches(lab.theirs, 2);
    expect(await rejection(of({ sticky: { idleMs: 1 } }).tryAcquire())).to.be.instanceOf(RangeError);
    await hold.release();
    await (await waiting).release();
  });

  it('by two drivers without a class, which look alike, are refused with advice about drivers', async () => {
    await using _hold = await of({ driver: plain() }).acquire();
    const error = await rejection(of({ driver: plain() }).acquire());
    expect(error).to.be.instanceOf(RangeError);
    expect(error.message).to.match(
      /got { driver: one of "lock-" } with another driver object\. .*: create the driver once, or give it a class$/,
    );
  });

  it('are one lock if they agree: same driver class, other bound on overtakes', async () => {
    const pairs: [InterProcessMutexOptions, InterProcessMutexOptions][] = [
      [{ driver: new LastLetter() }, { driver: new LastLetter() }],
      [{}, { driver: new StandardDriver() }],
      [{ weights: { overtakesPerWeight: 3 } }, { weights: {} }],
      [{ sticky: { idleMs: 7 } }, { sticky: { idleMs: 7 } }],
    ];
    for (const [index, [one, other]] of pairs.entries()) {
      const path = `${lab.path}-${index}`;
      await new InterProcessMutex(lab.client, path, one).withLock((outer) =>
        new InterProcessMutex(lab.client, path, other).withLock((inner) =>
          expect([inner.path, inner.isReentrant]).to.deep.equal([outer.path, true]),
        ),
      );
    }
  });

  it('by their data are one lock: the znode has the data of the object that created it', async () => {
    const lockOf = (data: string): InterProcessReadWriteLock =>
      new InterProcessReadWriteLock(lab.client, lab.path, { data: Buffer.from(data) });
    await lockOf('request 1').writeLock.withLock(async () => {
      const inner = lockOf('request 2');
      await inner.writeLock.withLock(async (hold) => {
        expect(hold.isReentrant).to.equal(true);
        expect((await inner.writeLock.participants()).map(({ data }) => data.toString())).to.deep.equal(['request 1']);
      });
    });
  });

  it('by foreignNodes of a read/write lock are refused across its two locks', async () => {
    const first = new InterProcessReadWriteLock(lab.client, lab.path);
    const other = new InterProcessReadWriteLock(lab.client, lab.path, { foreignNodes: 'wait' });
    await first.writeLock.withLock(async () => {
      for (const refused of [other.readLock.acquire(), other.writeLock.acquire()])
        expect((await rejection(refused)).message).to.contain(
          "to be {}, as another object of this client uses it, got { foreignNodes: 'wait' }",
        );
    });
  });
});

describe('read/write locks of one path', () => {
  const lab = labOfEachTest('rw-identity');
  let outer: InterProcessReadWriteLock;
  let inner: InterProcessReadWriteLock;
  let theirs: InterProcessReadWriteLock;
  beforeEach(() => {
    outer = new InterProcessReadWriteLock(lab.client, lab.path);
    inner = new InterProcessReadWriteLock(lab.client, lab.path);
    theirs = new InterProcessReadWriteLock(lab.other, lab.path);
  });

  for (const side of ['readLock', 'writeLock'] as const)
    it(`re-enter each other's ${side}`, async () => {
      await outer[side].withLock((hold) =>
        inner[side].withLock(async (again) => {
          expect([again.path, again.isReentrant]).to.deep.equal([hold.path, true]);
          expect(await lab.observer.children(lab.path)).to.have.length(1);
        }),
      );
    });

  it('are two kinds: a read lock is no hold of the write lock, and vice versa', async () => {
    await outer.readLock.withLock(async () => {
      expect([
        inner.readLock.isOwnedByCurrentContext,
        inner.writeLock.isOwnedByCurrentContext,
        inner.writeLock.isAcquiredInThisProcess,
      ]).to.deep.equal([true, false, false]);
      expect((await rejection(inner.writeLock.release())).code).to.equal('ERR_LOCK_NOT_OWNED');
    });
    await outer.writeLock.withLock(() =>
      expect([inner.writeLock.holdCount, inner.readLock.holdCount]).to.deep.equal([1, 0]),
    );
  });

  it('downgrade from one object’s write lock to the other’s read lock, before a waiting writer', async () => {
    await lockContext.run(async () => {
      const writing = await outer.writeLock.acquire();
      const writer = theirs.writeLock.acquire();
      await lab.queueReaches(2);
      const reading = await inner.readLock.acquire();
      expect(reading.fencingToken).to.equal(writing.fencingToken);
      await writing.release();
      expect(reading.isValid).to.equal(true);
      await reading.release();
      await (await writer).release();
    });
  });

  it('cannot upgrade from the read lock of one object to the write lock of the other', async () => {
    await outer.readLock.withLock(async () => {
      expect(await rejection(inner.writeLock.acquire())).to.be.instanceOf(DeadlockError);
      expect((await rejection(inner.writeLock.acquire({ timeoutMs: 30 }))).code).to.equal('ERR_LOCK_TIMEOUT');
    });
  });

  it('let a reader wait for the first acquire of its writer by the other object', async () => {
    const first = await theirs.writeLock.acquire();
    await lockContext.run(async () => {
      const both = Promise.all([outer.writeLock.acquire(), inner.readLock.acquire()]);
      await lab.queueReaches(2);
      await first.release();
      const [writing, reading] = await both;
      expect(reading.fencingToken).to.equal(writing.fencingToken);
      await Promise.all([writing.release(), reading.release()]);
    });
  });
});

describe('sticky locks of one path', () => {
  const lab = labOfEachTest('sticky-identity', { server: 'own', proxy: true, client: { sessionTimeoutMs: 4_000 } });

  const sticky = (idleMs = 60_000): InterProcessMutex =>
    new InterProcessMutex(lab.client, lab.path, { sticky: { idleMs } });

  it('keep one znode: a lock released by one object is granted to the other without a request', async () => {
    const first = await sticky().acquire();
    await first.release();
    await until('the sticky lock is idle', async () => (await lab.theirs.participants())[0]?.isIdle === true);
    lab.proxy.clear();
    await using again = await sticky().acquire();
    expect([again.path, again.fencingToken, again.grantNumber]).to.deep.equal([first.path, first.fencingToken, 1n]);
    const writes = lab.proxy.frames.filter(({ from, op }) => from === 'client' && ['create2', 'delete'].includes(op));
    expect(writes).to.deep.equal([]);
  });

  it('serve the waiters of all objects in the order of their calls, with one znode', async () => {
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        await using _hold = await sticky().acquire();
        order.push(index);
        expect(await lab.observer.children(lab.path)).to.have.length(1);
      }),
    );
    expect(order).to.deep.equal(order.map((_, index) => index));
  });

  it('re-enter each other in a context', async () => {
    await sticky().withLock((outer) =>
      sticky().withLock((inner) =>
        expect([inner.path, inner.grantNumber, inner.isReentrant]).to.deep.equal([outer.path, outer.grantNumber, true]),
      ),
    );
  });

  it('are given up once, after idleMs, and may be acquired again', async () => {
    const holds = [await sticky(20).acquire()];
    await holds[0]?.release();
    await lab.queueReaches(0);
    await using next = await sticky(20).acquire();
    expect(next.path).to.not.equal(holds[0]?.path);
  });

  it('refuse another idleMs while the znode is kept, and accept it afterwards', async () => {
    await (await sticky(60_000).acquire()).release();
    expect((await rejection(sticky(20).acquire())).message).to.contain(
      'to be { sticky: { idleMs: 60000 } }, as another object of this client uses it, got { sticky: { idleMs: 20 } }',
    );
    await (await lab.theirs.acquire()).release();
    await until('the sticky lock is given up', () =>
      sticky(20)
        .withLock(() => true)
        .catch(() => false),
    );
  });
});

describe('a semaphore and a mutex on its inner lock', () => {
  const lab = labOfEachTest('inner-lock');

  it('do not share it: the semaphore waits for the mutex that its caller holds', async () => {
    const semaphore = new InterProcessSemaphore(lab.client, lab.path, { maxLeases: 2 });
    const inner = new InterProcessMutex(lab.client, `${lab.path}/locks`);
    await semaphore.withLock(() => undefined);
    await inner.withLock(async () => {
      expect(await semaphore.tryAcquire()).to.equal(undefined);
      expect((await rejection(semaphore.acquire({ timeoutMs: 50 }))).code).to.equal('ERR_LOCK_TIMEOUT');
    });
    await (await semaphore.acquire()).release();
  });

  it('keep the mutex out while the semaphore holds the inner lock', async () => {
    const semaphore = new InterProcessSemaphore(lab.client, lab.path, { maxLeases: 1 });
    const inner = new InterProcessMutex(lab.client, `${lab.path}/locks`);
    await lockContext.run(async () => {
      const lease = await semaphore.acquire();
      const waiting = semaphore.acquire();
      await until(
        'the second acquire holds the inner lock',
        async () => (await lab.observer.children(`${lab.path}/leases`)).length === 2,
      );
      expect([inner.isOwnedByCurrentContext, inner.isAcquiredInThisProcess]).to.deep.equal([false, false]);
      expect(await inner.tryAcquire()).to.equal(undefined);
      await lease.release();
      await (await waiting).release();
    });
  });
});

describe('makeRevocable of one object', () => {
  const lab = labOfEachTest('revocable-identity');

  const asked = (mutex: InterProcessMutex): Hold[] => {
    const holds: Hold[] = [];
    mutex.makeRevocable((hold) => holds.push(hold));
    return holds;
  };

  it('gets a request for the znode that another object acquired and this object re-entered', async () => {
    const twin = new InterProcessMutex(lab.client, lab.path);
    const holds = asked(twin);
    await lab.mutex.withLock((outer) =>
      twin.withLock(async (inner) => {
        await revoke(lab.other, outer.path);
        await until('the listener is called', () => holds.length > 0);
        expect(holds).to.deep.equal([inner]);
        expect(holds[0]).to.equal(inner);
      }),
    );
  });

  it('gets an earlier request once when it re-enters', async () => {
    const twin = new InterProcessMutex(lab.client, lab.path);
    const [byMutex, byTwin] = [asked(lab.mutex), asked(twin)];
    await lab.mutex.withLock(async (outer) => {
      await revoke(lab.other, outer.path);
      await until('the first listener is called', () => byMutex.length === 1);
      await twin.withLock(async (inner) => {
        await until('the second listener is called', () => byTwin.length > 0);
        await twin.withLock(() => lab.mutex.withLock(() => queueOf(lab.theirs)));
        expect(byTwin).to.deep.equal([inner]);
      });
      expect(byMutex).to.deep.equal([outer]);
    });
  });

  it('gets no request for a hold that only another object has', async () => {
    const byMutex = asked(lab.mutex);
    const byTwin = asked(new InterProcessMutex(lab.client, lab.path));
    await lab.mutex.withLock(async (outer) => {
      await revoke(lab.other, outer.path);
      await until('the listener of the holder is called', () => byMutex.length === 1);
    });
    expect(byTwin).to.deep.equal([]);
  });
});
