import { expect } from 'chai';
import {
  InterProcessMultiLock,
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

/** An election as a lock, whose holds are its terms. */
const campaignsOf = (election: LeaderElection): Pick<InterProcessMutex, 'acquire'> => ({
  acquire: () => election.campaign(),
});

class Crowd extends StandardDriver {
  override decide(): LockDecision {
    return { held: true };
  }
}

describe('a hold', () => {
  const lab = labOfEachTest('hold');

  it('has the path of its znode, as the queue shows it', async () => {
    await using hold = await lab.mutex.acquire();
    expect(hold.path.slice(0, lab.mutex.path.length)).to.equal(lab.mutex.path);
    expect(hold.path.slice(lab.mutex.path.length)).to.match(
      /^\/_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-lock-\d{10}$/,
    );
    expect(await queueOf(lab.theirs)).to.deep.equal([hold.path]);
  });

  it('has the czxid of its znode as fencing token, and 0n as grant number', async () => {
    await using hold = await lab.mutex.acquire();
    const { value: stat } = await lab.client.session.request(exists(hold.path));
    expect(hold.fencingToken).to.equal(stat.czxid);
    expect(hold.grantNumber).to.equal(0n);
  });

  it('is a fence, unless it is one of several readers or leases, or its driver is of the application', async () => {
    const both = new InterProcessReadWriteLock(lab.client, `${lab.path}/rw`);
    const kinds: [Pick<InterProcessMutex, 'acquire'>, isFence: boolean][] = [
      [new InterProcessMutex(lab.client, `${lab.path}/plain`), true],
      [new InterProcessMutex(lab.client, `${lab.path}/sticky`, { sticky: { idleMs: 100 } }), true],
      [new InterProcessMutex(lab.client, `${lab.path}/weights`, { weights: {} }), true],
      [new InterProcessMutex(lab.client, `${lab.path}/driver`, { driver: new Crowd() }), false],
      [both.writeLock, true],
      [both.readLock, false],
      [new InterProcessSemaphore(lab.client, `${lab.path}/leases`, { maxLeases: 2 }), false],
      [new InterProcessSemaphoreMutex(lab.client, `${lab.path}/one`), true],
      [campaignsOf(new LeaderElection(lab.client, `${lab.path}/latch`)), true],
      [campaignsOf(new LeaderElection(lab.client, `${lab.path}/selector`, { protocol: 'selector' })), true],
    ];
    for (const [lock, isFence] of kinds) {
      await using hold = await lock.acquire();
      expect(hold.isFence, hold.path).to.equal(isFence);
    }
  });

  it('has a greater fencing token than every earlier holder, in this or another process', async () => {
    const tokens: bigint[] = [];
    for (const owner of [lab.mutex, lab.theirs, lab.theirs, lab.mutex])
      tokens.push(await owner.withLock((hold) => hold.fencingToken));
    expect(tokens).to.deep.equal([...new Set(tokens)].sort((a, b) => (a < b ? -1 : 1)));
    expect(tokens).to.have.length(4);
  });

  describe('signal', () => {
    it('is created when it is first read, and then always the same object', async () => {
      const { AbortController: Original } = globalThis;
      let made = 0;
      globalThis.AbortController = class extends Original {
        constructor() {
          super();
          made += 1;
        }
      };
      try {
        const hold = await lab.mutex.acquire();
        expect(made).to.equal(0);
        expect(hold.signal).to.equal(hold.signal);
        expect(made).to.equal(1);
        await hold.release();
        await (await lab.mutex.acquire()).release();
        expect(made).to.equal(1);
      } finally {
        globalThis.AbortController = Original;
      }
    });

    it('may have many listeners at the same time, and Node.js warns of no leak', async () => {
      const election = new LeaderElection(lab.client, `${lab.path}-election`);
      const multi = new InterProcessMultiLock([lab.mutex, new InterProcessMutex(lab.client, `${lab.path}-other`)]);
      const warnings: Error[] = [];
      const warned = (warning: Error): unknown => warnings.push(warning);
      process.on('warning', warned);
      const listen = (signal: AbortSignal): void => {
        for (let count = 0; count < 11; count++) signal.addEventListener('abort', () => undefined);
      };
      await lab.mutex.withLock(({ signal }) => listen(signal));
      await multi.withLock(({ signal }) => listen(signal));
      await election.lead((_term, stop) => listen(stop));
      await new Promise(setImmediate); // Node.js emits a warning later
      process.off('warning', warned);
      expect(warnings).to.deep.equal([]);
    });

    it('is not aborted by a normal release', async () => {
      const hold = await lab.mutex.acquire();
      const { signal } = hold;
      expect(await hold.release()).to.equal('released');
      expect(signal.aborted).to.equal(false);
    });

    it('aborts with the LockLostError, which names the cause', async () => {
      const hold = await lab.mutex.acquire();
      const loss = aborted(hold.signal);
      await lab.observer.remove(hold.path);
      expect(await loss)
        .to.be.instanceOf(LockLostError)
        .and.to.include({ code: 'ERR_LOCK_LOST', reason: 'node-deleted', path: hold.path });
      expect(hold.isValid).to.equal(false);
      expect(await hold.release()).to.equal('lost');
    });

    it('aborts with reason client-closed when the client is closed', async () => {
      const hold = await lab.mutex.acquire();
      const { signal } = hold;
      await lab.client.close();
      expect(signal.reason).to.be.instanceOf(LockLostError).and.to.include({ reason: 'client-closed' });
      expect(await hold.release()).to.equal('lost');
    });

    it('is already aborted when it is first read after the loss', async () => {
      const hold = await lab.mutex.acquire();
      await lab.client.close();
      expect(hold.signal.aborted).to.equal(true);
      expect(hold.signal.reason).to.be.instanceOf(LockLostError);
    });

    it('is already aborted when it is first read after the release of a lost hold', async () => {
      const hold = await lab.mutex.acquire();
      await lab.client.close();
      expect(await hold.release()).to.equal('lost');
      expect(hold.signal.reason).to.be.instanceOf(LockLostError);
    });

    it('is not aborted when it is first read after a normal release, even if the client has closed', async () => {
      const hold = await lab.mutex.acquire();
      expect(await hold.release()).to.equal('released');
      await lab.client.close();
      expect(hold.signal.aborted).to.equal(false);
    });
  });

  describe('isValid and assertValid', () => {
    it('are true and silent until the release, and throw NotOwnedError after it', async () => {
      const hold = await lab.mutex.acquire();
      expect(hold.isValid).to.equal(true);
      hold.assertValid();
      const releasing = hold.release();
      expect(hold.isValid).to.equal(false);
      expect(() => hold.assertValid()).to.throw(NotOwnedError, `You do not own the lock: ${lab.mutex.path}`);
      await releasing;
    });

    it('are false and throw the signal’s error after a loss, even after the release', async () => {
      const hold = await lab.mutex.acquire();
      await takeAway(hold, lab.observer);
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
      const hold = await lab.mutex.acquire();
      expect(afterStall(lab.client, () => hold.isValid)).to.equal(false);
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
      const hold = await lab.mutex.acquire();
      const next = lab.theirs.acquire();
      await queueReaches(lab.theirs, 2);
      await hold.release();
      expect(await lab.observer.exists(hold.path)).to.equal(false);
      expect((await next).isValid).to.equal(true);
      await (await next).release();
    });

    it('decides its outcome when it is called: a later deletion of the znode does not count', async () => {
      const hold = await lab.mutex.acquire();
      const releasing = hold.release();
      await lab.observer.remove(hold.path).catch(() => undefined);
      expect(await releasing).to.equal('released');
    });

    it('returns lost if the clock shows the loss only now, and aborts the signal first', async () => {
      const hold = await lab.mutex.acquire();
      const { signal } = hold;
      expect(await afterStall(lab.client, () => hold.release())).to.equal('lost');
      expect(signal.reason).to.be.instanceOf(LockLostError).and.to.include({ reason: 'session-deadline' });
    });

    it('in a listener of the loss, during a release, returns the same promise', async () => {
      await lockContext.run(async () => {
        const first = await lab.mutex.acquire();
        const second = await lab.mutex.acquire();
        let byListener: Promise<unknown> | undefined;
        first.signal.addEventListener('abort', () => {
          byListener = second.release();
        });
        const releasing = afterStall(lab.client, () => second.release());
        expect(byListener).to.equal(releasing);
        expect(await releasing).to.equal('lost');
        // The other handle still counts, because its job may still run.
        expect(await queueOf(lab.theirs)).to.deep.equal([first.path]);
        expect(await first.release()).to.equal('lost');
        await queueReaches(lab.theirs, 0);
      });
    });
  });

  describe('declared with await using', () => {
    it('is released at the end of its block', async () => {
      let seen: Hold | undefined;
      {
        await using hold = await lab.mutex.acquire();
        seen = hold;
        expect(hold.isValid).to.equal(true);
      }
      expect(seen.isValid).to.equal(false);
      expect(await queueOf(lab.theirs)).to.deep.equal([]);
    });

    it('is released when its block throws, and the error is passed on', async () => {
      const failure = new Error('the job failed');
      const job = async (): Promise<void> => {
        await using hold = await lab.mutex.acquire();
        hold.assertValid();
        throw failure;
      };
      expect(await rejection(job())).to.equal(failure);
      expect(await queueOf(lab.theirs)).to.deep.equal([]);
    });

    it('may be undefined, as tryAcquire returns it', async () => {
      await using theirHold = await lab.theirs.acquire();
      {
        await using hold = await lab.mutex.tryAcquire();
        expect(hold).to.equal(undefined);
      }
      expect(theirHold.isValid).to.equal(true);
    });

    it('may be lost: the end of its block does not throw', async () => {
      await using hold = await lab.mutex.acquire();
      await takeAway(hold, lab.observer);
    });
  });

  describe('with two handles of one owner', () => {
    it('stays valid until both handles are released, however often one is released', async () => {
      await lockContext.run(async () => {
        const first = await lab.mutex.acquire();
        const second = await lab.mutex.acquire();
        await first.release();
        await first.release();
        expect([first.isValid, second.isValid]).to.deep.equal([false, true]);
        expect(await queueOf(lab.theirs)).to.deep.equal([second.path]);
        await second.release();
        expect(await queueOf(lab.theirs)).to.deep.equal([]);
      });
    });

    it('is lost for both: each handle has its own signal, and both abort with one error', async () => {
      await lockContext.run(async () => {
        const first = await lab.mutex.acquire();
        const second = await lab.mutex.acquire();
        expect(first.signal).to.not.equal(second.signal);
        const loss = Promise.all([aborted(first.signal), aborted(second.signal)]);
        await lab.observer.remove(first.path);
        const [ofFirst, ofSecond] = await loss;
        expect(ofFirst).to.be.instanceOf(LockLostError);
        expect(ofSecond).to.equal(ofFirst);
        expect([await first.release(), await second.release()]).to.deep.equal(['lost', 'lost']);
      });
    });

    it('is not lost for a handle that was released before the loss', async () => {
      await lockContext.run(async () => {
        const first = await lab.mutex.acquire();
        const second = await lab.mutex.acquire();
        const { signal } = first;
        expect(await first.release()).to.equal('released');
        await takeAway(second, lab.observer);
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
