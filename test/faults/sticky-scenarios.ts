import { InterProcessMutex } from '../../src/index.ts';
import type { Scenario } from './scenario.ts';
import type { Stage } from './stage.ts';
import { acquireAndRelease, queued, ready } from './steps.ts';

/** A lock that stays with its process until somebody else wants it. */
export const stickyScenarios: readonly Scenario[] = [
  {
    name: 'a sticky lock that is granted again, and then wanted',
    frames: 12,
    begin: async (stage) => {
      await ready(stage);
      return async () => {
        const mutex = sticky(stage);
        await acquireAndRelease(stage, stage.acquire(stage.subject, {}, mutex));
        const hold = await stage.acquire(stage.subject, {}, mutex);
        const next = stage.acquire(stage.bystander);
        await queued(stage, next);
        await stage.release(hold);
        await stage.release(await next);
      };
    },
  },
  {
    name: 'a sticky lock that is idle, and then wanted',
    frames: 17,
    begin: async (stage) => {
      await ready(stage);
      const before = stage.wire.saw('client', 'connect');
      return async () => {
        await acquireAndRelease(stage, stage.acquire(stage.subject, {}, sticky(stage)));
        // The mark may get lost: it decides nothing, and is not repeated.
        const isMarked = (): boolean => stage.wire.saw('client', 'setData') > 0 && (stage.wire.saw('server', 'setData') > 0 || stage.wire.saw('client', 'connect') > before);
        await stage.wait('the mark, or the end of its turn', async () => isMarked() || (await stage.queue()).length === 0);
        await stage.release(await stage.acquire(stage.bystander));
      };
    },
  },
];

function sticky(stage: Stage): InterProcessMutex {
  return new InterProcessMutex(stage.subject, stage.path, { sticky: { idleMs: 60_000 } });
}
