import type { CaseRun } from './case-run.ts';
import type { Scenario } from './scenario.ts';
import { acquireAndRelease } from './steps.ts';

/** A session that was quiet attaches anew before a grant. Each fault happens to each frame of the attach. */
export const quietScenarios: readonly Scenario[] = [
  {
    name: 'first acquire after idle',
    frames: 14,
    begin: async (run) => {
      await run.connect();
      await run.release(await run.held(run.bystander));
      await stale(run);
      return () => acquireAndRelease(run, run.acquire(run.subject));
    },
  },
  {
    name: 'a deep waiter of a quiet session moves up',
    frames: 14,
    begin: async (run) => {
      await run.connect();
      const gate = await run.held(run.bystander);
      const middle = run.acquire(run.bystander);
      await run.wait('a waiter', () => run.queue().length === 2);
      const paths = run.queue().map(({ path }) => path);
      const acquiring = run.acquire(run.subject);
      await run.untilWaiting(acquiring, paths);
      await stale(run);
      const before = run.wire.saw('server', 'multi');
      return async () => {
        let isSettled = false;
        void acquiring.then(() => (isSettled = true));
        await run.release(gate);
        await run.wait('the proof of the attach', () => isSettled || run.wire.saw('server', 'multi') > before);
        await run.release(await middle);
        await run.release(await acquiring);
      };
    },
  },
];

/** Waits until the session needs a new proof before a grant, and has no request in flight. */
async function stale(run: CaseRun): Promise<void> {
  const { session } = run.subject;
  await run.wait('the session is stale', () => session.isStale && session.connection.unansweredSince === undefined);
}
