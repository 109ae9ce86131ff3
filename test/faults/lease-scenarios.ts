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
    begin: async (run) => {
      await ready(run);
      return async () => {
        const hung = await run.acquire(run.subject, { leaseMs: longMs });
        const next = run.acquire(run.bystander);
        await queued(run, next);
        if (hung?.isValid) hung.renew(leaseMs);
        await run.release(await next);
        await run.release(hung);
      };
    },
  },
  {
    name: 'a lease that passes while the next one waits in its process',
    frames: 10,
    begin: async (run) => {
      await ready(run);
      return async () => {
        const hung = await run.acquire(run.subject, { leaseMs: longMs });
        let isSettled = false;
        const next = run.acquire(run.subject).finally(() => (isSettled = true));
        await run.wait(
          'a waiter behind it',
          async () => isSettled || !hung?.isValid || (await run.queue()).length === 2,
        );
        if (hung?.isValid) hung.renew(leaseMs);
        await run.release(await next);
        await run.release(hung);
      };
    },
  },
];
