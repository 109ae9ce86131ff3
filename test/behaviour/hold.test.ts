import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LeaderElection,
  lockContext,
  LockLostError,
  NotOwnedError,
  StandardDriver,
  type Hold,
  type LockClient,
  type LockDecision,
} from '../../src/index.ts';
import { exists } from '../../src/zookeeper/wire/operations.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { aborted, rejection } from '../../lab/until.ts';
import { queueOf, queueReaches, takeAway } from '../../lab/queue.ts';

class Crowd extends StandardDriver {
  override decide(): LockDecision {
    return { held: true };
  }
}

describe('a hold', () => {
  const lab = labOfEachTest('hold');

  it('has the path of its znode, as the queue shows it', async () => {
    const { mutex, theirs } = lab;
    const hold = await mutex.acquire();
    expect(hold.path.slice(0, mutex.path.length)).to.equal(mutex.path);
    expect(hold.path.slice(mutex.path.length)).to.match(/^\/_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-lock-\d{10}$/);
    expect(await queueOf(theirs)).to.deep.equal([hold.path]);
    await hold.release();
  });

  it('has the czxid of its znode as fencing token, and 0n as grant number', async () => {
    const { client, mutex } = lab;
    const hold = await mutex.acquire();
    const { value: stat } = await client.session.request(exists(hold.path));
    expect(hold.fencingToken).to.equal(stat.czxid);
    expect(hold.grantNumber).to.equal(0n);
    await hold.release();
  });

  it('is a fence, unless it is one of several readers or leases, or its driver is of the application', async () => {
    const { client, path } = lab;
    const both = new InterProcessReadWriteLock(client, `${path}/rw`);
    const election = (protocol: 'latch' | 'selector') => ({
      acquire: () => new LeaderElection(client, `${path}/${protocol}`, { protocol }).campaign(),
    });
    const kinds: [{ acquire: () => Promise<Hold> }, isFence: boolean][] = [
      [new InterProcessMutex(client, `${path}/plain`), true],
      [new InterProcessMutex(client, `${path}/sticky`, { sticky: { idleMs: 100 } }), true],
      [new InterProcessMutex(client, `${path}/weights`, { weights: {} }), true],
      [new InterProcessMutex(client, `${path}/driver`, { driver: new Crowd() }), false],
      [both.writeLock, true],
      [both.readLock, false],
      [new InterProcessSemaphore(client, `${path}/leases`, { maxLeases: 2 }), false],
      [new InterProcessSemaphoreMutex(client, `${path}/one`), true],
      [election('latch'), true],
      [election('selector'), true],
    ];
    for (const [lock, isFence] of kinds) {
      await using hold = await lock.acquire();
      expect(hold.isFence, hold.path).to.equal(isFence);
    }
  });

  it('has a greater fencing token than every earlier holder, in this or another process', async () => {
    const { mutex, theirs } = lab;
    const tokens: bigint[] = [];
    for (const owner of [mutex, theirs, theirs, mutex]) tokens.push(await owner.withLock((hold) => hold.fencingToken));
    expect(tokens).to.deep.equal([...new Set(tokens)].sort((a, b) => (a < b ? -1 : 1)));
    expect(tokens).to.have.length(4);
  });

  describe('signal', () => {
    it('is created when it is first read, and then always the same object', async () => {
      const { mutex } = lab;
      const { AbortController: Original } = globalThis;
      let made = 0;
      globalThis.AbortController = class extends Original {
        constructor() {
          super();
          made += 1;
        }
      };
      try {
        const hold = await mutex.acquire();
        expect(made).to.equal(0);
        expect(hold.signal).to.equal(hold.signal);
        expect(made).to.equal(1);
        await hold.release();
        await (await mutex.acquire()).release();
        expect(made).to.equal(1);
      } finally {
        globalThis.AbortController = Original;
      }
    });

    it('is not aborted by a normal release', async () => {
      const hold = await lab.mutex.acquire();
      const { signal } = hold;
      expect(await hold.release()).to.equal('released');
      expect(signal.aborted).to.equal(false);
    });

    it('aborts with the LockLostError, which names the cause', async () => {
      const { mutex, observer } = lab;
      const hold = await mutex.acquire();
      const loss = aborted(hold.signal);
      await observer.remove(hold.path);
      expect(await loss)
        .to.be.instanceOf(LockLostError)
        .and.to.include({ code: 'ERR_LOCK_LOST', reason: 'node-deleted', path: hold.path });
      expect(hold.isValid).to.equal(false);
      expect(await hold.release()).to.equal('lost');
    });

    it('aborts with reason client-closed when the client is closed', async () => {
      const { client, mutex } = lab;
      const hold = await mutex.acquire();
      const { signal } = hold;
      await client.close();
      expect(signal.reason).to.be.instanceOf(LockLostError).and.to.include({ reason: 'client-closed' });
      expect(await hold.release()).to.equal('lost');
    });

    it('is already aborted when it is first read after the loss', async () => {
      const { client, mutex } = lab;
      const hold = await mutex.acquire();
      await client.close();
      expect(hold.signal.aborted).to.equal(true);
      expect(hold.signal.reason).to.be.instanceOf(LockLostError);
    });

    it('is already aborted when it is first read after the release of a lost hold', async () => {
      const { client, mutex } = lab;
      const hold = await mutex.acquire();
      await client.close();
      expect(await hold.release()).to.equal('lost');
      expect(hold.signal.reason).to.be.instanceOf(LockLostError);
    });

    it('is not aborted when it is first read after a normal release, even if the client has closed', async () => {
      const { client, mutex } = lab;
      const hold = await mutex.acquire();
      expect(await hold.release()).to.equal('released');
      await client.close();
      expect(hold.signal.aborted).to.equal(false);
    });
  });

  describe('isValid and assertValid', () => {
    it('are true and silent until the release, and throw NotOwnedError after it', async () => {
      const { mutex } = lab;
      const hold = await mutex.acquire();
      expect(hold.isValid).to.equal(true);
      hold.assertValid();
      const releasing = hold.release();
      expect(hold.isValid).to.equal(false);
      expect(() => hold.assertValid()).to.throw(NotOwnedError, `You do not own the lock: ${mutex.path}`);
      await releasing;
    });

    it('are false and throw the signal’s error after a loss, even after the release', async () => {
      const { mutex, observer } = lab;
      const hold = await mutex.acquire();
      await takeAway(hold, observer);
      expect(hold.isValid).to.equal(false);
      expect(() => hold.assertValid())
        .to.throw(LockLostError)
        .that.equals(hold.signal.reason);
      await hold.release();
      expect(() => hold.assertValid())
        .to.throw(LockLostError)
        .that.equals(hold.signal.reason);
    });

    it('judge by the clock when they are first read after a stall, and never become valid again', async () => {
      const { client, mutex } = lab;
      const hold = await mutex.acquire();
      expect(afterStall(client, () => hold.isValid)).to.equal(false);
      expect(hold.isValid).to.equal(false);
      expect(hold.signal.reason).to.be.instanceOf(LockLostError).and.to.include({ reason: 'session-deadline' });
      expect(() => hold.assertValid()).to.throw(LockLostError);
      expect(await hold.release()).to.equal('lost');
    });
  });

  describe('release', () => {
    it('is idempotent: each call returns the same promise', async () => {
      const hold = await lab.mutex.acquire();
      const releasing = hold.release();
      expect(hold.release()).to.equal(releasing);
      expect(await releasing).to.equal('released');
      expect(hold.release()).to.equal(releasing);
    });

    it('settles when the znode is deleted, and lets the next waiter in', async () => {
      const { mutex, theirs, observer } = lab;
      const hold = await mutex.acquire();
      const next = theirs.acquire();
      await queueReaches(theirs, 2);
      await hold.release();
      expect(await observer.exists(hold.path)).to.equal(false);
      expect((await next).isValid).to.equal(true);
      await (await next).release();
    });

    it('decides its outcome when it is called: a later deletion of the znode does not count', async () => {
      const { mutex, observer } = lab;
      const hold = await mutex.acquire();
      const releasing = hold.release();
      await observer.remove(hold.path).catch(() => undefined);
      expect(await releasing).to.equal('released');
    });

    it('returns lost if the clock shows the loss only now, and aborts the signal first', async () => {
      const { client, mutex } = lab;
      const hold = await mutex.acquire();
      const { signal } = hold;
      expect(await afterStall(client, () => hold.release())).to.equal('lost');
      expect(signal.reason).to.be.instanceOf(LockLostError).and.to.include({ reason: 'session-deadline' });
    });

    it('in a listener of the loss, during a release, returns the same promise', async () => {
      const { client, mutex, theirs } = lab;
      await lockContext.run(async () => {
        const first = await mutex.acquire();
        const second = await mutex.acquire();
        let byListener: Promise<unknown> | undefined;
        first.signal.addEventListener('abort', () => {
          byListener = second.release();
        });
        const releasing = afterStall(client, () => second.release());
        expect(byListener).to.equal(releasing);
        expect(await releasing).to.equal('lost');
        // The other handle still counts, because its job may still run.
        expect(await queueOf(theirs)).to.deep.equal([first.path]);
        expect(await first.release()).to.equal('lost');
        await queueReaches(theirs, 0);
      });
    });
  });

  describe('declared with await using', () => {
    it('is released at the end of its block', async () => {
      const { mutex, theirs } = lab;
      let seen: Hold | undefined;
      {
        await using hold = await mutex.acquire();
        seen = hold;
        expect(hold.isValid).to.equal(true);
      }
      expect(seen.isValid).to.equal(false);
      expect(await queueOf(theirs)).to.deep.equal([]);
    });

    it('is released when its block throws, and the error is passed on', async () => {
      const { mutex, theirs } = lab;
      const failure = new Error('the job failed');
      const job = async (): Promise<void> => {
        await using hold = await mutex.acquire();
        hold.assertValid();
        throw failure;
      };
      expect(await rejection(job())).to.equal(failure);
      expect(await queueOf(theirs)).to.deep.equal([]);
    });

    it('may be undefined, as tryAcquire returns it', async () => {
      const { mutex, theirs } = lab;
      await using theirHold = await theirs.acquire();
      {
        await using hold = await mutex.tryAcquire();
        expect(hold).to.equal(undefined);
      }
      expect(theirHold.isValid).to.equal(true);
    });

    it('may be lost: the end of its block does not throw', async () => {
      const { mutex, observer } = lab;
      await using hold = await mutex.acquire();
      await takeAway(hold, observer);
    });
  });

  describe('with two handles of one owner', () => {
    it('stays valid until both handles are released, however often one is released', async () => {
      const { mutex, theirs } = lab;
      await lockContext.run(async () => {
        const first = await mutex.acquire();
        const second = await mutex.acquire();
        await first.release();
        await first.release();
        expect([first.isValid, second.isValid]).to.deep.equal([false, true]);
        expect(await queueOf(theirs)).to.deep.equal([second.path]);
        await second.release();
        expect(await queueOf(theirs)).to.deep.equal([]);
      });
    });

    it('is lost for both: each handle has its own signal, and both abort with one error', async () => {
      const { mutex, observer } = lab;
      await lockContext.run(async () => {
        const first = await mutex.acquire();
        const second = await mutex.acquire();
        expect(first.signal).to.not.equal(second.signal);
        const loss = Promise.all([aborted(first.signal), aborted(second.signal)]);
        await observer.remove(first.path);
        const [ofFirst, ofSecond] = await loss;
        expect(ofFirst).to.be.instanceOf(LockLostError);
        expect(ofSecond).to.equal(ofFirst);
        expect([await first.release(), await second.release()]).to.deep.equal(['lost', 'lost']);
      });
    });

    it('is not lost for a handle that was released before the loss', async () => {
      const { mutex, observer } = lab;
      await lockContext.run(async () => {
        const first = await mutex.acquire();
        const second = await mutex.acquire();
        const { signal } = first;
        expect(await first.release()).to.equal('released');
        await takeAway(second, observer);
        expect(signal.aborted).to.equal(false);
        expect(() => first.assertValid()).to.throw(NotOwnedError);
        expect(() => second.assertValid()).to.throw(LockLostError);
        expect(await second.release()).to.equal('lost');
      });
    });
  });
});

/** The result of `look` after a stall longer than the session: no timer has fired, and no reply was read. */
function afterStall<T>({ host: { clock }, sessionTimeoutMs }: LockClient, look: () => T): T {
  const now = clock.now.bind(clock);
  clock.now = () => now() + sessionTimeoutMs;
  try {
    return look();
  } finally {
    clock.now = now;
  }
}
