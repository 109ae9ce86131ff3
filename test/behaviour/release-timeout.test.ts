import { expect } from 'chai';
import {
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LeaderElection,
  type AcquireOptions,
  type BackgroundEvent,
  type LockClient,
  type PartHold,
} from '../../src/index.ts';
import { from } from '../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { queueReaches } from '../../lab/queue.ts';
import { until } from '../../lab/until.ts';

interface WithLock {
  withLock<T>(job: () => T, options: AcquireOptions): Promise<T>;
}

const limit = { releaseTimeoutMs: 3_000 };

/** Every kind of lock that has the option. */
const locks: Readonly<Record<string, (client: LockClient, path: string) => WithLock>> = {
  'a mutex': (client, path) => new InterProcessMutex(client, path),
  'a mutex with weights': (client, path) => new InterProcessMutex(client, path, { weights: {} }),
  'a reader': (client, path) => new InterProcessReadWriteLock(client, path).readLock,
  'a writer': (client, path) => new InterProcessReadWriteLock(client, path).writeLock,
  'a semaphore': (client, path) => new InterProcessSemaphore(client, path, { maxLeases: 2 }),
  'a semaphore mutex': (client, path) => new InterProcessSemaphoreMutex(client, path),
  'a multi-lock': (client, path) =>
    new InterProcessMultiLock(['a', 'b'].map((name) => new InterProcessMutex(client, `${path}/${name}`))),
  'an election': (client, path) => {
    const election = new LeaderElection(client, path);
    return { withLock: (job, options) => election.lead(job, options) };
  },
};

describe('releaseTimeoutMs', () => {
  const lab = labOfEachTest('release-timeout', {
    server: 'own',
    proxy: true,
    client: { sessionTimeoutMs: 30_000 },
  });
  let warnings: string[];

  beforeEach(() => {
    warnings = [];
    lab.client.on('background', (event: BackgroundEvent) => {
      if (event.type === 'warning') warnings.push(event.message);
    });
  });

  /** Milliseconds until the promise has settled. */
  const lasts = async (settling: Promise<unknown>): Promise<number> => {
    const since = lab.now();
    await settling;
    return Math.round(lab.now() - since);
  };

  const noZnodes = (): Promise<void> =>
    until('the znodes are gone', () => lab.client.session.znodes === 0 && lab.client.health().held === 0);

  for (const [name, create] of Object.entries(locks))
    it(`lets withLock of ${name} answer in time, with the result of the job, and the release goes on`, async () => {
      const lock = create(lab.client, lab.path);
      const znodes: number[] = [];
      let endedAt = 0;
      const result = await lock.withLock(() => {
        lab.proxy.silence();
        endedAt = lab.now();
        return 'result';
      }, limit);
      expect(result).to.equal('result');
      expect(lab.now() - endedAt).to.be.within(3_000, 3_005);
      znodes.push(lab.client.session.znodes);
      expect(znodes[0], 'the znodes that are not deleted yet').to.be.above(0);
      expect(warnings).to.have.length(name === 'a multi-lock' ? 2 : 1);
      expect(warnings[0]).to.match(
        new RegExp(`^The servers have not confirmed within 3000 ms that ${lab.path}\\S* is released\\. `),
      );
      lab.proxy.speak();
      await noZnodes();
    });

  it('is no limit if it is left out: a release waits for the servers, and until the session’s deadline', async () => {
    const [first, second] = [
      await lab.mutex.acquire(),
      await new InterProcessMutex(lab.client, `${lab.path}/b`).acquire(),
    ];
    const { remainingMs } = first;
    lab.proxy.silence();
    expect(await lasts(first.release())).to.be.within(remainingMs - 1, remainingMs + 5);
    expect(await second.release()).to.equal('lost');
    expect(warnings).to.deep.equal([]);
  });

  it('is not waited for if the servers answer, and nothing is logged', async () => {
    const hold = await lab.mutex.acquire(limit);
    expect(await lasts(hold.release())).to.be.below(3_000);
    await lab.sleep(3_001);
    expect(warnings).to.deep.equal([]);
  });

  it('of 0 waits for nothing and logs nothing', async () => {
    const hold = await lab.mutex.acquire({ releaseTimeoutMs: 0 });
    lab.proxy.silence();
    expect(await lasts(hold.release())).to.be.at.most(1);
    expect(warnings).to.deep.equal([]);
    lab.proxy.speak();
    await noZnodes();
  });

  it('does not change the outcome of a lost hold', async () => {
    const hold = await lab.mutex.acquire({ ...limit, leaseMs: 10 });
    await lab.sleep(20);
    lab.proxy.silence();
    expect(await lasts(hold.release().then((outcome) => expect(outcome).to.equal('lost')))).to.equal(0);
    lab.proxy.speak();
  });

  it('is that of the hold that is released last', async () => {
    await lab.mutex
      .withLock(async () => {
        const inner = await lab.mutex.acquire({ releaseTimeoutMs: 100 });
        lab.proxy.silence();
        expect(await lasts(inner.release())).to.equal(0);
        return lab.now();
      }, limit)
      .then((endedAt) => expect(lab.now() - endedAt).to.be.within(3_000, 3_005));
    expect(warnings).to.have.length(1);
    lab.proxy.speak();
  });

  it('also limits a release by mutex.release() and by await using', async () => {
    await lab.mutex.acquire(limit);
    lab.proxy.silence();
    expect(await lasts(lab.mutex.release())).to.be.within(3_000, 3_005);
    lab.proxy.speak();
    const leaving = async (): Promise<number> => {
      await using hold = await lab.mutex.acquire(limit);
      expect(hold.isValid).to.equal(true);
      lab.proxy.silence();
      return lab.now();
    };
    const endedAt = await leaving();
    expect(lab.now() - endedAt).to.be.within(3_000, 3_005);
    lab.proxy.speak();
  });

  it('does not keep the lock from the next waiter, of this process and of another one', async () => {
    const hold = await lab.mutex.acquire(limit);
    const ours = lab.mutex.acquire();
    await queueReaches(lab.theirs, 2);
    const theirs = lab.theirs.acquire();
    await queueReaches(lab.theirs, 3);
    const stop = lab.proxy.on((frame) => (from('server', 'multi')(frame) ? 'hold' : undefined));
    const releasing = hold.release();
    expect(await lasts(releasing)).to.be.within(3_000, 3_005);
    stop();
    lab.proxy.speak();
    const next = await ours;
    expect([await releasing, next.isValid, await lab.observer.exists(hold.path)]).to.deep.equal([
      'released',
      true,
      false,
    ]);
    await next.release();
    await (await theirs).release();
  });

  it('limits the release of a sticky lock for which another process waits', async () => {
    const sticky = new InterProcessMutex(lab.client, lab.path, { sticky: { idleMs: 60_000 } });
    await sticky.withLock(() => undefined, limit);
    const hold = await sticky.acquire(limit);
    const theirs = lab.theirs.acquire();
    // Behind the event that tells the holder's client of the other process.
    await queueReaches(sticky, 2);
    lab.proxy.silence();
    expect(await lasts(hold.release())).to.be.within(3_000, 3_005);
    lab.proxy.speak();
    await (await theirs).release();
    await noZnodes();
  });

  it('of a release in the background leaves nothing behind when the client is closed', async () => {
    const hold = await lab.mutex.acquire(limit);
    lab.proxy.silence();
    await hold.release();
    const closing = lab.client.close();
    lab.proxy.speak();
    await closing;
    expect(await lab.observer.exists(hold.path)).to.equal(false);
  });

  it('of a multi-lock limits a lock of your own too, which may fail later', async () => {
    let fail = (): void => undefined;
    const part = {
      path: `${lab.path}/own`,
      acquire: () =>
        Promise.resolve({
          isValid: true,
          signal: new AbortController().signal,
          release: () => new Promise<'released'>((_, reject) => (fail = () => reject(new Error('own')))),
        }),
    };
    const hold = await new InterProcessMultiLock<PartHold>([lab.mutex, part]).acquire(limit);
    const releasing = hold.release();
    expect(await lasts(releasing)).to.be.within(3_000, 3_005);
    fail();
    await lab.sleep(10); // an unhandled rejection would fail the test
    expect(await releasing).to.equal('released');
  });

  it('writes ten lines a minute at most, because a service releases many locks in an outage', async () => {
    const all = Array.from({ length: 12 }, (_, index) => new InterProcessMutex(lab.client, `${lab.path}/${index}`));
    const holds = await Promise.all(all.map((mutex) => mutex.acquire({ releaseTimeoutMs: 10 })));
    lab.proxy.silence();
    await Promise.all(holds.map((hold) => hold.release()));
    expect(warnings).to.have.length(10);
    lab.proxy.speak();
  });
});
