import type { Hold, LockClient } from '../../src/index.ts';
import type { CaseRun } from './case-run.ts';
import { sessionTimeoutMs } from './case-run.ts';
import type { Scenario } from './scenario.ts';
import { scene } from './steps.ts';

/** The client under test waits behind a holder and waiters, and looks one place ahead. */
export const lookAheadScenarios: readonly Scenario[] = [
  scene('look-ahead of the third of three clients', { frames: 15, others: 2 }, async (run) => {
    const { holder, middle } = await held(run, 1);
    return async () => {
      const acquiring = await waiting(run, 2);
      await run.release(holder);
      await releaseAll(run, [...middle, acquiring()]);
    };
  }),
  scene('look-ahead of the fourth of four clients', { frames: 17, others: 3 }, async (run) => {
    const { holder, middle } = await held(run, 2);
    return async () => {
      const acquiring = await waiting(run, 3);
      await run.release(holder);
      const before = await middle[0];
      const own = run
        .queue()
        .filter(({ isSubjects }) => isSubjects)
        .map(({ path }) => path);
      await looksAhead(run, acquiring(), () => run.release(before), own);
      await releaseAll(run, [...middle.slice(1), acquiring()]);
    };
  }),
  scene('look-ahead behind waiters that give up', { frames: 17, others: 3 }, async (run) => {
    const controllers = [new AbortController(), new AbortController()];
    const { holder, middle } = await held(run, 2, controllers);
    return async () => {
      const acquiring = await waiting(run, 3);
      const leave = async (): Promise<void> => {
        controllers[0]?.abort();
        await middle[0];
      };
      await looksAhead(run, acquiring(), leave, [holder.path]);
      controllers[1]?.abort();
      await middle[1];
      await run.release(holder);
      await run.release(await acquiring());
    };
  }),
  scene('look-ahead past a znode of the own process', { frames: 15 }, async (run) => {
    const own = await run.held(run.subject);
    const next = run.acquire(run.bystander);
    await run.wait('a waiter', () => run.queue().length === 2);
    return async () => {
      const acquiring = await waiting(run, 2);
      await run.release(own);
      await releaseAll(run, [next, acquiring()]);
    };
  }),
  scene(
    'look-ahead past znodes of other clients, when a waiter of the own process between them gives up',
    { frames: 22, others: 2 },
    async (run) => {
      const holder = await run.held(run.bystander);
      const controller = new AbortController();
      const own = run.acquire(run.subject, { signal: controller.signal });
      await run.untilWaiting(own, [holder.path]);
      const next = run.acquire(run.neighbours[0] as LockClient);
      await run.wait('a waiter', () => run.queue().length === 3);
      return async () => {
        const acquiring = await waiting(run, 3);
        const leave = async (): Promise<void> => {
          controller.abort();
          // A fault may have deleted the znode before it.
          await run.release(await own);
        };
        await looksAhead(run, acquiring(), leave, [holder.path]);
        await run.release(holder);
        await releaseAll(run, [next, acquiring()]);
      };
    },
  ),
];

/** One bystander holds the lock, and others wait behind it, each in a process of its own as far as the servers know. */
async function held(
  run: CaseRun,
  waiters: number,
  controllers: readonly AbortController[] = [],
): Promise<{ readonly holder: Hold; readonly middle: readonly Promise<Hold | undefined>[] }> {
  const holder = await run.held(run.bystander);
  const middle: Promise<Hold | undefined>[] = [];
  for (const [index, client] of run.neighbours.slice(0, waiters).entries()) {
    const signal = controllers[index]?.signal;
    middle.push(run.acquire(client, signal ? { signal } : {}));
    await run.wait('a waiter', () => run.queue().length === index + 2);
  }
  return { holder, middle };
}

/** Each client releases as soon as it is granted: a fault may have changed the order of the queue. */
async function releaseAll(run: CaseRun, holds: readonly Promise<Hold | undefined>[]): Promise<void> {
  await Promise.all(holds.map(async (hold) => run.release(await hold)));
}

/** The client under test waits, and watches the two znodes before its own, except one of its own. */
async function waiting(run: CaseRun, before: number): Promise<() => Promise<Hold | undefined>> {
  const queue = run.queue();
  const past = run.wire.frames.length;
  const acquiring = run.acquire(run.subject);
  const watched = queue
    .slice(before - 2)
    .filter(({ isSubjects }) => !isSubjects)
    .map(({ path }) => path);
  await watches(run, acquiring, watched, past);
  return () => acquiring;
}

/**
 * Lets the znode before the predecessor leave, and waits until the client under test has listed the queue and watches
 * these znodes.
 */
async function looksAhead(
  run: CaseRun,
  acquiring: Promise<unknown>,
  leave: () => Promise<unknown>,
  watched: readonly string[],
): Promise<void> {
  const past = run.wire.frames.length;
  await leave();
  await watches(run, acquiring, watched, past);
}

/**
 * Waits until the client under test has the watches, or its acquire has settled. After a fault the queue may be another
 * one, or the client may watch other znodes. Then the scenario goes on after a while.
 */
function watches(run: CaseRun, acquiring: Promise<unknown>, paths: readonly string[], past: number): Promise<void> {
  let isSettled = false;
  void acquiring.then(() => (isSettled = true));
  const givesUpAt = performance.now() + longestWaitMs;
  return run.wait(
    `a watch on ${paths.join(' and ')}`,
    () => isSettled || performance.now() > givesUpAt || paths.every((path) => run.wire.isWatched([path], past)),
  );
}

const longestWaitMs = sessionTimeoutMs / 2;
