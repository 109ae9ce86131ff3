import { expect } from 'chai';
import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { lockContext } from '../../../src/index.ts';
import { innermostContext, LockContext } from '../../../src/mutex/lock-context.ts';
import { rejection } from '../../../lab/until.ts';

describe('lockContext.run', () => {
  it('returns the result of its function, and throws its error', async () => {
    const error = new Error('the job failed');
    const fail = (): never => {
      throw error;
    };
    expect(lockContext.run(() => 42)).to.equal(42);
    expect(await lockContext.run(async () => 42)).to.equal(42);
    expect(() => lockContext.run(fail)).to.throw(error);
    expect(await rejection(lockContext.run(async () => fail()))).to.equal(error);
  });

  it('ends its context when its function has settled, and not before', async () => {
    const contexts: (LockContext | undefined)[] = [];
    const areLive = (): unknown[] => contexts.map((context) => context?.isLive);
    const enter = (): void => void contexts.push(innermostContext());
    const fail = (): never => {
      enter();
      throw new Error('the job failed');
    };
    lockContext.run(enter);
    expect(() => lockContext.run(fail)).to.throw('the job failed');
    const fulfilling = lockContext.run(async () => enter());
    const rejecting = lockContext.run(async () => fail());
    expect(areLive()).to.deep.equal([false, false, true, true]);
    await fulfilling;
    await rejection(rejecting);
    expect(areLive()).to.deep.equal([false, false, false, false]);
  });

  it('starts a lazy thenable once, inside the context', async () => {
    const started: unknown[] = [];
    const query: PromiseLike<string> = {
      then: (fulfilled, rejected) => {
        started.push(innermostContext()?.isLive);
        return Promise.resolve('42 rows').then(fulfilled, rejected);
      },
    };
    expect(await lockContext.run(() => query)).to.equal('42 rows');
    expect(started).to.deep.equal([true]);
  });

  it('leaves a rejection unhandled if nobody handles its promise', async () => {
    const error = new Error('not handled');
    const listeners = process.rawListeners('unhandledRejection') as NodeJS.UnhandledRejectionListener[];
    process.removeAllListeners('unhandledRejection');
    try {
      const unhandled = once(process, 'unhandledRejection');
      void lockContext.run(async () => Promise.reject(error));
      expect((await unhandled)[0]).to.equal(error);
    } finally {
      for (const listener of listeners) process.on('unhandledRejection', listener);
    }
  });
});

describe('a job that starts the next job', () => {
  const jobs = 20_000;
  let collectGarbage: () => void;

  before(() => {
    setFlagsFromString('--expose-gc');
    collectGarbage = runInNewContext('gc') as () => void;
  });

  type Run = (job: () => void | Promise<void>) => unknown;
  const ways: Record<string, Run> = {
    'lockContext.run': (job) => lockContext.run(job),
    'lockContext.bind': (job) => lockContext.bind(job)(),
    // A withLock inside a job nests contexts in this way.
    'a context in a context': (job) => lockContext.run(() => new LockContext('lock', innermostContext()).run(job)),
  };

  for (const [how, run] of Object.entries(ways)) {
    for (const overlap of [0, 1, 5])
      it(`by ${how} is collected after its end, with ${overlap} others running`, async () => {
        expect(await firstAtTheEndOfAChain(run, overlap)).to.equal(undefined);
      });
  }

  /** The first job's context, if it still exists while the last job runs. */
  function firstAtTheEndOfAChain(run: Run, overlap: number): Promise<LockContext | undefined> {
    return new Promise((resolve, reject) => {
      let count = 0;
      let first: WeakRef<LockContext> | undefined;
      const ends: (() => void)[] = [];

      const job = (): void | Promise<void> => {
        count += 1;
        const context = innermostContext();
        first ??= context && new WeakRef(context);
        if (count === jobs) return lastJob();
        Promise.resolve()
          .then(() => void run(job))
          .catch(reject);
        if (overlap === 0) return;
        if (ends.length === overlap) ends.shift()?.();
        return new Promise((end) => ends.push(end));
      };
      const lastJob = async (): Promise<void> => {
        // A WeakRef keeps its target until the end of the event-loop turn in which it was created.
        await new Promise((turn) => setImmediate(turn));
        collectGarbage();
        resolve(first?.deref());
      };
      run(job);
    });
  }
});
