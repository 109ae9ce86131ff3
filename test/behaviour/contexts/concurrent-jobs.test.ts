import { expect } from 'chai';
import { InterProcessMutex, lockContext } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { CriticalSection } from '../../../lab/critical-section.ts';

describe('three concurrent jobs', () => {
  const lab = labOfEachTest('concurrent-jobs');
  let section: CriticalSection;
  beforeEach(() => (section = new CriticalSection(lab.theirs, 3)));

  const jobs = {
    async acquire(): Promise<void> {
      const hold = await lab.mutex.acquire();
      try {
        await section.visit();
      } finally {
        await hold.release();
      }
    },
    withLock: (): Promise<void> => lab.mutex.withLock(() => section.visit()),
  };

  async function expectOneAtATime(running: Promise<unknown>): Promise<void> {
    await running;
    expect(section).to.deep.include({ visits: 3, most: 1 });
  }

  for (const [how, job] of Object.entries(jobs))
    describe(`that use ${how}`, () => {
      it('started by one flow, run one at a time', () => expectOneAtATime(Promise.all([job(), job(), job()])));

      it('started by a setInterval that does not wait for them, run one at a time', async () => {
        await expectOneAtATime(Promise.all(await startedByInterval(job, 3)));
      });

      it('started by a setInterval whose own context is dead, run one at a time', async () => {
        let started: Promise<Promise<void>[]> | undefined;
        await lab.mutex.withLock(() => {
          started = startedByInterval(job, 3);
        });
        await expectOneAtATime(Promise.all((await started) ?? []));
      });

      it('started by a for await loop that does not wait for them, run one at a time', async () => {
        const running: Promise<void>[] = [];
        for await (const _ of messages(3)) running.push(job());
        await expectOneAtATime(Promise.all(running));
      });

      it('each in its own context, run one at a time', () =>
        expectOneAtATime(Promise.all([lockContext.run(job), lockContext.run(job), lockContext.run(job)])));
    });

  describe('that are siblings', () => {
    const siblings = (): Promise<unknown> => Promise.all([jobs.withLock(), jobs.withLock(), jobs.withLock()]);

    it('withLock under one lockContext.run, queue up as separate owners', () =>
      expectOneAtATime(lockContext.run(siblings)));

    it('withLock under the withLock of another lock, queue up as separate owners', () =>
      expectOneAtATime(new InterProcessMutex(lab.client, testPath('around')).withLock(siblings)));

    it('(two withLocks and a later acquire in one context) run one at a time', () =>
      expectOneAtATime(lockContext.run(() => Promise.all([jobs.withLock(), jobs.withLock(), jobs.acquire()]))));
  });

  it('started by a holder are the same holder, and run together', async () => {
    await lab.mutex.withLock((hold) =>
      Promise.all(
        [1, 2, 3].map(() =>
          lab.mutex.withLock(async (branch) => {
            expect(branch.path).to.equal(hold.path);
            await section.visit();
          }),
        ),
      ),
    );
    expect(section).to.deep.include({ visits: 3, most: 3 });
    expect(await lab.theirs.participants()).to.deep.equal([]);
  });
});

/** Resolves when the interval has started `count` jobs, and does not wait for them. */
function startedByInterval(job: () => Promise<void>, count: number): Promise<Promise<void>[]> {
  const started: Promise<void>[] = [];
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      started.push(job());
      if (started.length < count) return;
      clearInterval(timer);
      resolve(started);
    }, 1);
  });
}

async function* messages(count: number): AsyncGenerator<number> {
  for (let index = 0; index < count; index += 1) yield index;
}
