import { weighted } from './kinds.ts';
import type { Scenario } from './scenario.ts';
import { acquireAndRelease, ready } from './steps.ts';

const plays: readonly Scenario[] = [
  {
    name: 'a weighted acquire and release',
    frames: 12,
    begin: async (stage) => {
      await ready(stage);
      return () => acquireAndRelease(stage, stage.acquire(stage.subject));
    },
  },
  {
    name: 'a weighted acquire behind a holder',
    frames: 16,
    begin: async (stage) => {
      await ready(stage);
      const gate = await stage.held(stage.bystander);
      return async () => {
        const acquiring = stage.acquire(stage.subject);
        await stage.parked(acquiring, [gate.path]);
        await stage.release(gate);
        await stage.release(await acquiring);
      };
    },
  },
];

/** Whoever is next claims the lock. */
export const weightedScenarios: readonly Scenario[] = plays.map((play) => ({ ...play, kind: weighted }));
