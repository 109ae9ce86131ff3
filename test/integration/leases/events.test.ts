import { expect } from 'chai';
import { lockContext, type Hold, type InterProcessMutex } from '../../../src/index.ts';
import { labOfEachTest } from '../../../harness/lab.ts';
import { aborted, rejection, until } from '../../../harness/until.ts';
import { queueReaches } from '../../../harness/queue.ts';

const names = ['queued', 'acquired', 'renewed', 'expired', 'lost', 'released'] as const;

describe('the events of a mutex', () => {
  const lab = labOfEachTest('events');

  /** What a mutex tells from now on, in order. */
  const heard = (mutex: InterProcessMutex): string[] => {
    const told: string[] = [];
    for (const name of names) mutex.on(name, () => told.push(name));
    return told;
  };

  it('are acquired, renewed and released, in order, for a hold that ends well', async () => {
    const { mutex } = lab;
    const told = heard(mutex);
    const events: unknown[] = [];
    for (const name of ['acquired', 'renewed', 'released'] as const) mutex.on(name, (event) => events.push(event.hold));
    const hold = await mutex.acquire({ leaseMs: 60_000 });
    expect(told).to.deep.equal(['acquired']);
    hold.renew(60_000);
    const releasing = hold.release();
    expect(told).to.deep.equal(['acquired', 'renewed', 'released']);
    await releasing;
    await hold.release();
    expect(told).to.have.length(3);
    expect(events).to.deep.equal([hold, hold, hold]);
  });

  it('are queued before acquired for who has to wait, and released before the next one’s acquired', async () => {
    const { mutex } = lab;
    const first = await mutex.acquire();
    const told = heard(mutex);
    const waiting = mutex.acquire();
    await until('it waits', () => told.length === 1);
    await first.release();
    const second = await waiting;
    expect(told).to.deep.equal(['queued', 'released', 'acquired']);
    await second.release();
  });

  it('say expired for a lease that has passed, with the error, and nothing of its later release', async () => {
    const { mutex } = lab;
    const told = heard(mutex);
    const seen: unknown[] = [];
    const hold = await mutex.acquire({ leaseMs: 30 });
    const { signal } = hold;
    mutex.on('expired', ({ hold: of, error }) => seen.push(of, error, signal.aborted));
    await aborted(signal);
    expect(await hold.release()).to.equal('lost');
    expect(told).to.deep.equal(['acquired', 'expired']);
    expect(seen).to.deep.equal([hold, signal.reason, true]);
  });

  it('say lost for every other end, with the error, and nothing of its later release', async () => {
    const { mutex, observer } = lab;
    const told = heard(mutex);
    const seen: unknown[] = [];
    const hold = await mutex.acquire({ leaseMs: 60_000 });
    const { signal } = hold;
    mutex.on('lost', ({ hold: of, error }) => seen.push(of, error, signal.aborted));
    await observer.remove(hold.path);
    await aborted(signal);
    expect(await hold.release()).to.equal('lost');
    expect(told).to.deep.equal(['acquired', 'lost']);
    expect(seen).to.deep.equal([hold, signal.reason, true]);
  });

  it('say lost to all holds of a client that is closed', async () => {
    const { client, mutex } = lab;
    await lockContext.run(async () => {
      await mutex.acquire();
      await mutex.acquire();
    });
    const told = heard(mutex);
    await client.close();
    expect(told).to.deep.equal(['lost', 'lost']);
  });

  it('are told of each re-entrant hold', async () => {
    const { mutex } = lab;
    const told: string[] = [];
    mutex.on('acquired', ({ hold }) => told.push(hold.isReentrant ? 'reentrant' : 'first'));
    mutex.on('released', ({ hold }) => told.push(`${hold.isReentrant ? 'reentrant' : 'first'} released`));
    await mutex.withLock(() => mutex.withLock(() => undefined));
    expect(told).to.deep.equal(['first', 'reentrant', 'reentrant released', 'first released']);
  });

  it('say expired before anybody else is granted the lock', async () => {
    const { mutex, theirs } = lab;
    const told = heard(mutex);
    await mutex.acquire({ leaseMs: 300 });
    const next = theirs.acquire().then((hold) => (told.push('granted'), hold));
    await (await next).release();
    expect(told).to.deep.equal(['acquired', 'expired', 'granted']);
  });

  it('are heard by nobody who owns the lock: what a listener acquires waits its turn', async () => {
    const { mutex } = lab;
    const owned: boolean[] = [];
    let acquiring: Promise<Hold> | undefined;
    await mutex.withLock(async (hold) => {
      mutex.once('acquired', () => {
        owned.push(mutex.isOwnedByCurrentContext);
        acquiring = mutex.acquire();
      });
      await (await mutex.acquire()).release();
      await queueReaches(mutex, 2);
      expect(hold.isValid).to.equal(true);
    });
    const next = await acquiring;
    expect([owned, next?.isReentrant]).to.deep.equal([[false], false]);
    await next?.release();
  });

  it('go on past a listener that throws or rejects, which is a warning', async () => {
    const { mutex } = lab;
    const warnings: unknown[] = [];
    const warned = (warning: unknown): void => void warnings.push(warning);
    process.on('warning', warned);
    try {
      const failures = [new Error('thrown'), new Error('rejected')] as const;
      const rejecting = (): unknown => Promise.reject(failures[1]);
      for (const name of ['acquired', 'expired'] as const) {
        mutex.once(name, () => {
          throw failures[0];
        });
        mutex.once(name, rejecting);
      }
      const told = heard(mutex);
      const hold = await mutex.acquire({ leaseMs: 30 });
      await aborted(hold.signal);
      await until('it is warned of', () => warnings.length === 4);
      expect(new Set(warnings)).to.deep.equal(new Set(failures));
      expect(told).to.deep.equal(['acquired', 'expired']);
      const next = await mutex.acquire();
      await next.release();
    } finally {
      process.off('warning', warned);
    }
  });

  it('are told of an acquire that fails only as far as it came', async () => {
    const { mutex, theirs } = lab;
    const hold = await theirs.acquire();
    const told = heard(mutex);
    await rejection(mutex.acquire({ timeoutMs: 200, leaseMs: 1 }));
    expect(told).to.deep.equal(['queued']);
    await hold.release();
  });
});
