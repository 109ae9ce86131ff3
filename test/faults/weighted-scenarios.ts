import { weighted } from './lock-kinds.ts';
import type { Scenario } from './scenario.ts';
import { acquireAndRelease, scene } from './steps.ts';

const plays: readonly Scenario[] = [
  scene(
    'a weighted acquire and release',
    { frames: 12 },
    (run) => () => acquireAndRelease(run, run.acquire(run.subject)),
  ),
  scene('a weighted acquire behind a holder', { frames: 16 }, async (run) => {
    const gate = await run.held(run.bystander);
    return async () => {
      const acquiring = run.acquire(run.subject);
      await run.untilWaiting(acquiring, [gate.path]);
      await run.release(gate);
      await run.release(await acquiring);
    };
  }),
];

/** Scenarios of a lock with weights, which the next waiter claims. */
export const weightedScenarios: readonly Scenario[] = plays.map((play) => ({ ...play, kind: weighted }));
