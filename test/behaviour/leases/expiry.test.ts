import { expect } from 'chai';
import { InterProcessMutex, LockLostError, NotOwnedError, type Hold, type LockClient } from '../../../src/index.ts';
import { nodesOf } from '../../../src/internals/znode/lock-node.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { gate } from '../../../lab/gate.ts';
import { queueOf, queueReaches } from '../../../lab/queue.ts';
import { codeMs } from '../../../lab/world.ts';

const expired = { code: 'ERR_LOCK_LOST', reason: 'lease-expired' };
const never = new Promise<never>(() => undefined);

describe('a lease', () => {
  const lab = labOfEachTest('lease');

  it('that passes lets the next waiter in, though the job hangs', async () => {
    const entered = gate();
    const hung = rejection(lab.mutex.withLock(() => (entered.open(), never), { leaseMs: 200 }));
    await entered.opened;
    await using next = await lab.theirs.acquire();
    expect(next.isValid).to.equal(true);
    expect(await hung)
      .to.be.instanceOf(LockLostError)
      .and.to.include(expired);
  });

  it('that passes grants a waiter in the same process, as a release does', async () => {
    const hung = await lab.mutex.acquire({ leaseMs: 600_000 });
    const waiting = lab.mutex.acquire();
    // Asked by the waiter's own client, which gets its answers in order.
    await queueReaches(lab.mutex, 2);
    hung.renew(50);
    await using next = await waiting;
    // No server has answered in between: the client does not know that the znode is gone.
    expect(nodesOf(lab.client.session).has(hung.path)).to.equal(true);
    expect([hung.isValid, next.isValid]).to.deep.equal([false, true]);
    await until('the znode of the first hold is gone', async () => (await queueOf(lab.theirs)).length === 1);
    expect(await queueOf(lab.theirs)).to.deep.equal([next.path]);
  });

  it('ends the hold before its znode: the signal has aborted while the znode still exists', async () => {
    const hold = await lab.mutex.acquire({ leaseMs: 200 });
    const reason = await aborted(hold.signal);
    expect(reason)
      .to.be.instanceOf(LockLostError)
      .and.to.include({ ...expired, path: hold.path });
    expect((reason as Error).message).to.equal(
      `The lock held by ${hold.path} was lost: its lease of 200 ms ended without a renewal`,
    );
    expect([hold.isValid, hold.remainingMs]).to.deep.equal([false, 0]);
    expect(() => hold.assertValid())
      .to.throw(LockLostError)
      .that.equals(reason);
    await until('the znode is gone', async () => !(await lab.observer.exists(hold.path)));
    expect(await hold.release()).to.equal('lost');
  });

  it('aborts the signal before another client is granted the lock', async () => {
    const order: string[] = [];
    const hold = await lab.mutex.acquire({ leaseMs: 600_000 });
    hold.signal.addEventListener('abort', () => order.push('aborted'));
    const granted = [lab.theirs, lab.mutex].map((one) =>
      one.acquire().then((next) => (order.push('granted'), next.release())),
    );
    await queueReaches(lab.theirs, 3);
    hold.renew(100);
    await Promise.all(granted);
    expect(order).to.deep.equal(['aborted', 'granted', 'granted']);
  });

  it('ends the hold first, or the deadline of the session does: the hold knows which', async () => {
    await using hold = await lab.mutex.acquire();
    expect(hold.leaseEndsFirst).to.equal(false);
    hold.renew(1_000);
    expect(hold.leaseEndsFirst).to.equal(true);
    hold.renew(3_600_000);
    expect(hold.leaseEndsFirst).to.equal(false);
  });

  it('ends the hold when it is first read after a stall, before any timer has run', async () => {
    const hold = await lab.mutex.acquire({ leaseMs: 5_000 });
    const { signal } = hold;
    expect(afterStall(lab.client, 5_000, () => [hold.isValid, signal.aborted, hold.remainingMs])).to.deep.equal([
      false,
      true,
      0,
    ]);
    expect([hold.isValid, signal.aborted]).to.deep.equal([false, true]);
    expect(signal.reason).to.include(expired);
  });

  it('ends the hold also if the session has ended after it, in the same stall', async () => {
    const hold = await lab.mutex.acquire({ leaseMs: 1_000 });
    const { sessionTimeoutMs } = lab.client;
    expect(afterStall(lab.client, 2 * sessionTimeoutMs, () => hold.loss)).to.include(expired);
    expect(hold.signal.reason).to.include(expired);
    await hold.release();
  });

  it('ends the hold if a release notices the stall', async () => {
    const hold = await lab.mutex.acquire({ leaseMs: 5_000 });
    expect(await afterStall(lab.client, 5_000, () => hold.release())).to.equal('lost');
    expect(hold.signal.reason).to.include(expired);
    await queueReaches(lab.theirs, 0);
  });

  it('of a released hold has no effect', async () => {
    const first = await lab.mutex.acquire({ leaseMs: 100 });
    const { signal } = first;
    expect(await first.release()).to.equal('released');
    const second = await lab.mutex.acquire({ leaseMs: 100 });
    await aborted(second.signal);
    expect(signal.aborted).to.equal(false);
    expect(first.loss).to.equal(undefined);
  });

  it('leaves the session and its other holds unchanged', async () => {
    const other = await new InterProcessMutex(lab.client, `${lab.mutex.path}-other`).acquire();
    const { session } = lab.client;
    const hold = await lab.mutex.acquire({ leaseMs: 100 });
    await aborted(hold.signal);
    await session.prove();
    expect([other.isValid, lab.client.session === session, lab.client.state]).to.deep.equal([true, true, 'connected']);
    expect(await other.release()).to.equal('released');
  });

  it('that has passed cannot be re-entered in its lock context', async () => {
    const lost = gate();
    const again = gate();
    let reentry: Promise<Hold> | undefined;
    const hung = lab.mutex.withLock(
      async () => {
        await lost.opened;
        reentry = lab.mutex.acquire();
        again.open();
        await never;
      },
      { leaseMs: 100 },
    );
    expect(await rejection(hung)).to.include(expired);
    lost.open();
    await again.opened;
    expect(await rejection(reentry ?? never)).to.include(expired);
  });

  it('does not exist by default: then only the session limits the remaining time', async () => {
    await using hold = await lab.mutex.acquire();
    expect(hold.remainingMs).to.be.within(
      0.9 * lab.client.sessionTimeoutMs - 100 - codeMs,
      0.9 * lab.client.sessionTimeoutMs,
    );
    expect(afterStall(lab.client, lab.client.sessionTimeoutMs, () => hold.remainingMs)).to.equal(0);
    expect(hold.signal.reason).to.include({ reason: 'session-deadline' });
  });

  it('limits the remaining time if it ends first, and no time remains after a release', async () => {
    const short = await lab.mutex.acquire({ leaseMs: 1_000 });
    expect(short.remainingMs).to.be.within(950 - codeMs, 1_000);
    await short.release();
    expect(short.remainingMs).to.equal(0);
    await using long = await lab.mutex.acquire({ leaseMs: 2 ** 40 });
    expect(long.remainingMs).to.be.within(
      0.9 * lab.client.sessionTimeoutMs - 100 - codeMs,
      0.9 * lab.client.sessionTimeoutMs,
    );
  });

  it('does not outlive its client', async () => {
    const hold = await lab.mutex.acquire({ leaseMs: 100, renewEveryMs: 10 });
    await lab.client.close();
    let renewals = 0;
    lab.mutex.on('renewed', () => (renewals += 1));
    await lab.sleep(100);
    expect(renewals).to.equal(0);
    expect(hold.signal.reason).to.include({ reason: 'client-closed' });
    expect(() => hold.renew(100)).to.throw(LockLostError);
  });

  it('does not change the error of a job that fails before the lease passes', async () => {
    const failure = new Error('the job failed');
    expect(await rejection(lab.mutex.withLock(() => Promise.reject(failure), { leaseMs: 60_000 }))).to.equal(failure);
    await queueReaches(lab.theirs, 0);
  });

  it('hides the result of its job after it has passed', async () => {
    const late = gate();
    const hung = lab.mutex.withLock(() => late.opened.then(() => Promise.reject(new Error('too late'))), {
      leaseMs: 100,
    });
    expect(await rejection(hung)).to.include(expired);
    // No caller handles the job any more: its error must not end the process.
    late.open();
    await new Promise(setImmediate);
    expect(await rejection(lab.mutex.release())).to.be.instanceOf(NotOwnedError);
  });
});

/** The result of `look` after a stall of `ms`. */
function afterStall<T>({ host: { clock } }: LockClient, ms: number, look: () => T): T {
  const now = clock.now.bind(clock);
  clock.now = () => now() + ms;
  try {
    return look();
  } finally {
    clock.now = now;
  }
}
