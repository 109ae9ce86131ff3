import { InterProcessMutex } from '../../src/index.ts';
import type { Scenario } from './scenario.ts';
import type { CaseRun } from './case-run.ts';
import { acquireAndRelease, queued, scene } from './steps.ts';

/** Locks that stay with their process until another client wants them. */
export const stickyScenarios: readonly Scenario[] = [
  scene('a sticky lock that is granted again, and then wanted by another client', { frames: 12 }, (run) => async () => {
    const mutex = sticky(run);
    await acquireAndRelease(run, run.acquire(run.subject, {}, mutex));
    const hold = await run.acquire(run.subject, {}, mutex);
    const next = run.acquire(run.bystander);
    await queued(run, next);
    await run.release(hold);
    await run.release(await next);
  }),
  scene('a sticky lock that is idle, and then wanted by another client', { frames: 17 }, (run) => {
    const before = run.wire.saw('client', 'connect');
    return async () => {
      await acquireAndRelease(run, run.acquire(run.subject, {}, sticky(run)));
      // The mark may be lost: it decides nothing, and is not repeated.
      const isMarked = (): boolean =>
        run.wire.saw('client', 'setData') > 0 &&
        (run.wire.saw('server', 'setData') > 0 || run.wire.saw('client', 'connect') > before);
      await run.wait('the mark, or the end of its znode', () => isMarked() || run.queue().length === 0);
      await run.release(await run.acquire(run.bystander));
    };
  }),
];

function sticky(run: CaseRun): InterProcessMutex {
  return new InterProcessMutex(run.subject, run.path, { sticky: { idleMs: 60_000 } });
}
