import type { Scenario } from './scenario.ts';
import { queued, ready } from './steps.ts';

const leaseMs = 100;

/** A job that never lets go: what it holds passes on by itself. */
export const leaseScenarios: readonly Scenario[] = [
  {
    name: 'a lease that passes while its job hangs, and somebody waits',
    frames: 7,
    begin: async (stage) => {
      await ready(stage);
      return async () => {
        const hung = await stage.acquire(stage.subject, { leaseMs });
        const next = stage.acquire(stage.bystander);
        await queued(stage, next);
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
        const hung = await stage.acquire(stage.subject, { leaseMs });
        await stage.release(await stage.acquire(stage.subject));
        await stage.release(hung);
      };
    },
  },
];
