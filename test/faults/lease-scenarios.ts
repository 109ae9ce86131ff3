import type { Scenario } from './scenario.ts';
import { queued, ready } from './steps.ts';

/** Until somebody waits: a lease that passes before goes another way. */
const longMs = 60_000;
const leaseMs = 100;

/** A job that never lets go: what it holds passes on by itself. */
export const leaseScenarios: readonly Scenario[] = [
  {
    name: 'a lease that passes while its job hangs, and somebody waits',
    frames: 7,
    begin: async (stage) => {
      await ready(stage);
      return async () => {
        const hung = await stage.acquire(stage.subject, { leaseMs: longMs });
        const next = stage.acquire(stage.bystander);
        await queued(stage, next);
        if (hung?.isValid) hung.renew(leaseMs);
        await stage.release(await next);
        await stage.release(hung);
      };
    },
  },
  {
    name: 'a lease that passes while the next one waits in its process',
    frames: 10,
    begin: async (stage) => {
      await ready(stage);
      return async () => {
        const hung = await stage.acquire(stage.subject, { leaseMs: longMs });
        let isSettled = false;
        const next = stage.acquire(stage.subject).finally(() => (isSettled = true));
        await stage.wait('a waiter behind it', async () => isSettled || !hung?.isValid || (await stage.queue()).length === 2);
        if (hung?.isValid) hung.renew(leaseMs);
        await stage.release(await next);
        await stage.release(hung);
      };
    },
  },
];
