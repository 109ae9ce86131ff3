import { expect } from 'chai';
import { lockContext, type Hold, type InterProcessMutex } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { queueReaches } from '../../../lab/queue.ts';

const names = ['queued', 'acquired', 'renewed', 'expired', 'lost', 'released'] as const;

describe('the events of a mutex', () => {
  const lab = labOfEachTest('events');

  /** The names of the events that a mutex emits from now on, in order. */
  const emitted = (mutex: InterProcessMutex): string[] => {
    const log: string[] = [];
    for (const name of names) mutex.on(name, () => log.push(name));
    return log;
  };

  it('are acquired, renewed and released, in order, for a hold that ends normally', async () => {
    const log = emitted(lab.mutex);
    const events: unknown[] = [];
    for (const name of ['acquired', 'renewed', 'released'] as const)
      lab.mutex.on(name, (event) => events.push(event.hold));
    const hold = await lab.mutex.acquire({ leaseMs: 60_000 });
    expect(log).to.deep.equal(['acquired']);
    hold.renew(60_000);
    const releasing = hold.release();
    expect(log).to.deep.equal(['acquired', 'renewed', 'released']);
    await releasing;
    await hold.release();
    expect(log).to.have.length(3);
    expect(events).to.deep.equal([hold, hold, hold]);
  });

  it('are queued before acquired for a waiter, and released before the next acquired', async () => {
    const first = await lab.mutex.acquire();
    const log = emitted(lab.mutex);
    const waiting = lab.mutex.acquire();
    await until('the waiter is queued', () => log.length === 1);
    await first.release();
    await using _second = await waiting;
    expect(log).to.deep.equal(['queued', 'released', 'acquired']);
  });

  it('are expired, with the error, for a lease that has passed, and none for its later release', async () => {
    const log = emitted(lab.mutex);
    const seen: unknown[] = [];
    const hold = await lab.mutex.acquire({ leaseMs: 30 });
    const { signal } = hold;
    lab.mutex.on('expired', ({ hold: of, error }) => seen.push(of, error, signal.aborted));
    await aborted(signal);
    expect(await hold.release()).to.equal('lost');
    expect(log).to.deep.equal(['acquired', 'expired']);
    expect(seen).to.deep.equal([hold, signal.reason, true]);
  });

  it('are lost, with the error, for every other end, and none for its later release', async () => {
    const log = emitted(lab.mutex);
    const seen: unknown[] = [];
    const hold = await lab.mutex.acquire({ leaseMs: 60_000 });
    const { signal } = hold;
    lab.mutex.on('lost', ({ hold: of, error }) => seen.push(of, error, signal.aborted));
    await lab.observer.remove(hold.path);
    await aborted(signal);
    expect(await hold.release()).to.equal('lost');
    expect(log).to.deep.equal(['acquired', 'lost']);
    expect(seen).to.deep.equal([hold, signal.reason, true]);
  });

  it('are lost for each hold of a closed client', async () => {
    await lockContext.run(async () => {
      await lab.mutex.acquire();
      await lab.mutex.acquire();
    });
    const log = emitted(lab.mutex);
    await lab.client.close();
    expect(log).to.deep.equal(['lost', 'lost']);
  });

  it('are emitted for each re-entrant hold', async () => {
    const log: string[] = [];
    lab.mutex.on('acquired', ({ hold }) => log.push(hold.isReentrant ? 'reentrant' : 'first'));
    lab.mutex.on('released', ({ hold }) => log.push(`${hold.isReentrant ? 'reentrant' : 'first'} released`));
    await lab.mutex.withLock(() => lab.mutex.withLock(() => undefined));
    expect(log).to.deep.equal(['first', 'reentrant', 'reentrant released', 'first released']);
  });

  it('are expired before another client is granted the lock', async () => {
    const log = emitted(lab.mutex);
    await lab.mutex.acquire({ leaseMs: 300 });
    const next = lab.theirs.acquire().then((hold) => (log.push('granted'), hold));
    await (await next).release();
    expect(log).to.deep.equal(['acquired', 'expired', 'granted']);
  });

  it('run outside of the lock’s context: an acquire in a listener waits its turn', async () => {
    const owned: boolean[] = [];
    let acquiring: Promise<Hold> | undefined;
    await lab.mutex.withLock(async (hold) => {
      lab.mutex.once('acquired', () => {
        owned.push(lab.mutex.isOwnedByCurrentContext);
        acquiring = lab.mutex.acquire();
      });
      await (await lab.mutex.acquire()).release();
      await queueReaches(lab.mutex, 2);
      expect(hold.isValid).to.equal(true);
    });
    const next = await acquiring;
    expect([owned, next?.isReentrant]).to.deep.equal([[false], false]);
    await next?.release();
  });

  it('reach the other listeners if one throws or rejects, which is a warning', async () => {
    const warnings: unknown[] = [];
    const warned = (warning: unknown): void => void warnings.push(warning);
    process.on('warning', warned);
    try {
      const failures = [new Error('thrown'), new Error('rejected')] as const;
      const rejecting = (): unknown => Promise.reject(failures[1]);
      for (const name of ['acquired', 'expired'] as const) {
        lab.mutex.once(name, () => {
          throw failures[0];
        });
        lab.mutex.once(name, rejecting);
      }
      const log = emitted(lab.mutex);
      const hold = await lab.mutex.acquire({ leaseMs: 30 });
      await aborted(hold.signal);
      await until('the failures are warnings', () => warnings.length === 4);
      expect(new Set(warnings.map((warning) => (warning as Error).cause))).to.deep.equal(new Set(failures));
      expect(log).to.deep.equal(['acquired', 'expired']);
      const next = await lab.mutex.acquire();
      await next.release();
    } finally {
      process.off('warning', warned);
    }
  });

  it('of a failed acquire are only those that it reached', async () => {
    await using _hold = await lab.theirs.acquire();
    const log = emitted(lab.mutex);
    const controller = new AbortController();
    const failing = rejection(lab.mutex.acquire({ signal: controller.signal, leaseMs: 1 }));
    await until('the waiter is queued', () => log.length > 0);
    controller.abort();
    await failing;
    expect(log).to.deep.equal(['queued']);
  });
});
