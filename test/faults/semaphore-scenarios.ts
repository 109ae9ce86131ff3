import { InterProcessSemaphore, type Hold } from '../../src/index.ts';
import { countPath, semaphore, sharedSemaphore } from './lock-kinds.ts';
import type { Scenario } from './scenario.ts';
import type { CaseRun } from './case-run.ts';
import { acquireAndRelease, ready, scene } from './steps.ts';
import { sessionTimeoutMs } from './case-run.ts';

const plays: readonly Scenario[] = [
  scene('a lease while another lease is held', { frames: 19, kind: semaphore(2) }, async (run) => {
    const other = await run.held(run.bystander);
    return async () => {
      await acquireAndRelease(run, run.acquire(run.subject));
      await run.release(other);
    };
  }),
  scene('two leases, one of which another client holds', { frames: 30, kind: semaphore(2) }, async (run) => {
    const other = await run.held(run.bystander);
    return async () => {
      const both = run.acquireAll(run.subject, {}, () =>
        new InterProcessSemaphore(run.subject, run.path, { maxLeases: 2 }).acquireMany(2),
      );
      await waits(run, both, 2);
      await run.release(other);
      await releaseAll(run, await both);
    };
  }),
  scene('a lease, behind a waiter that has the turn', { frames: 30, kind: semaphore(1) }, async (run) => {
    const first = await run.held(run.bystander);
    const second = run.acquire(run.bystander);
    await run.wait('a waiter', () => run.queue('/leases').length === 2);
    const [turn] = run.queue('/locks');
    return async () => {
      const acquiring = run.acquire(run.subject);
      await run.untilWaiting(acquiring, [turn?.path ?? '', `${run.path}/leases`], { folder: '/locks' });
      const past = run.wire.frames.length;
      await run.release(first);
      // A call that loses its turn comes after the client.
      const released = second.then(async (hold) => {
        await waits(run, acquiring, 1, past);
        await run.release(hold);
      });
      await acquireAndRelease(run, acquiring);
      await released;
    };
  }),
  scene('a lease for which another client waits', { frames: 3, kind: semaphore(1) }, async (run) => {
    const hold = await run.held(run.subject);
    const next = run.acquire(run.bystander);
    await run.wait('a waiter', () => run.queue().length === 2);
    return async () => {
      await run.release(hold);
      await run.release(await next);
    };
  }),
  scene('a wait for a lease that times out', { frames: 18, kind: semaphore(1) }, async (run) => {
    const other = await run.held(run.bystander);
    return async () => {
      await run.release(await run.acquire(run.subject, { timeoutMs: sessionTimeoutMs / 4 }));
      await run.wait('its own znodes are gone', () =>
        [...run.queue('/leases'), ...run.queue('/locks')].every(({ isSubjects }) => !isSubjects),
      );
      await run.release(other);
    };
  }),
  scene('tryAcquire of a free lease', { frames: 15, kind: semaphore(2) }, async (run) => {
    const other = await run.held(run.bystander);
    return async () => {
      await acquireAndRelease(run, run.tryAcquire(run.subject));
      await run.release(other);
    };
  }),
  scene(
    'tryAcquire while another client waits, and tryAcquire while none waits',
    { frames: 18, kind: semaphore(1) },
    async (run) => {
      const first = await run.held(run.bystander);
      const second = run.acquire(run.bystander);
      await run.wait('a waiter', () => run.queue('/leases').length === 2);
      return async () => {
        const none = await run.tryAcquire(run.subject);
        if (none) run.warnings.push('a tryAcquire has overtaken a waiter');
        await run.release(none);
        await run.release(first);
        await run.release(await second);
        await acquireAndRelease(run, run.tryAcquire(run.subject));
      };
    },
  ),
  {
    name: 'a lease that a raised count adds',
    frames: 25,
    kind: sharedSemaphore,
    begin: async (run) => {
      const count = countPath(run.path);
      run.servers.create(count.slice(0, count.lastIndexOf('/')));
      run.servers.create(count);
      run.servers.write(count, countOf(1));
      run.owners.most = 1;
      await ready(run);
      const other = await run.held(run.bystander);
      return async () => {
        const acquiring = run.acquire(run.subject);
        await waits(run, acquiring, 1);
        run.owners.most = 2;
        run.servers.write(count, countOf(2));
        await acquireAndRelease(run, acquiring);
        await run.release(other);
      };
    },
  },
];

/** The first fault is part of the scenario; the second fault happens to the recovery from the first. */
const recoveries: readonly Scenario[] = [
  scene('a waiter for a lease that reconnects', { frames: 20, kind: semaphore(1) }, async (run) => {
    const { other, acquiring } = await waitingForLease(run);
    run.wire.proxy.cut();
    const before = run.wire.saw('server', 'sync');
    return async () => {
      let isSettled = false;
      void acquiring.then(() => (isSettled = true));
      await run.wait('the new connection proven', () => isSettled || run.wire.saw('server', 'sync') > before);
      await run.release(other);
      await acquireAndRelease(run, acquiring);
    };
  }),
  scene('a waiter for a lease whose session has expired', { frames: 25, kind: semaphore(1) }, async (run) => {
    const { other, acquiring } = await waitingForLease(run);
    await run.wire.proxy.refuse();
    run.expire();
    await run.wait('its znode is gone', () => run.queue().length === 1);
    return async () => {
      const past = run.wire.frames.length;
      await run.wire.proxy.accept();
      await waits(run, acquiring, 1, past);
      await run.release(other);
      await acquireAndRelease(run, acquiring);
    };
  }),
];

export const semaphoreScenarios: readonly Scenario[] = [...plays, ...recoveries];

/**
 * Waits until the client under test has so many leases, of which the last may still be waiting, or until the call has
 * settled.
 */
async function waits(
  run: CaseRun,
  acquiring: Promise<unknown>,
  leases: number,
  past = run.wire.frames.length,
): Promise<void> {
  await run.untilWaiting(acquiring, [`${run.path}/leases`], { past, places: leases });
}

async function waitingForLease(
  run: CaseRun,
): Promise<{ readonly other: Hold; readonly acquiring: Promise<Hold | undefined> }> {
  const other = await run.held(run.bystander);
  const acquiring = run.acquire(run.subject);
  await waits(run, acquiring, 1);
  // Otherwise the next connection may set one watch less.
  const [turn] = run.queue('/locks');
  await run.untilWaiting(acquiring, [turn?.path ?? ''], { past: 0, folder: '/locks' });
  return { other, acquiring };
}

async function releaseAll(run: CaseRun, holds: readonly Hold[]): Promise<void> {
  for (const hold of holds) await run.watched(hold);
  for (const hold of holds) await run.release(hold);
}

/** The bytes in the form of Curator's SharedCount. */
function countOf(leases: number): Buffer {
  return Buffer.from([0, 0, 0, leases]);
}
