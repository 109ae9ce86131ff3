import { InterProcessSemaphore, type Hold } from '../../src/index.ts';
import type { Frame } from '../support/zk-proxy.ts';
import { countPath, semaphore, sharedSemaphore } from './kinds.ts';
import type { Scenario } from './scenario.ts';
import type { Stage } from './stage.ts';
import { acquireAndRelease, ready } from './steps.ts';
import { sessionTimeoutMs } from './theatre.ts';

const plays: readonly Scenario[] = [
  {
    name: 'a lease beside another one',
    frames: 19,
    kind: semaphore(2),
    isByClock: isWatchOnTurn,
    begin: async (stage) => {
      await ready(stage);
      const other = await stage.held(stage.bystander);
      return async () => {
        await acquireAndRelease(stage, stage.acquire(stage.subject));
        await stage.release(other);
      };
    },
  },
  {
    name: 'two leases, of which one is held elsewhere',
    frames: 30,
    kind: semaphore(2),
    isByClock: isWatchOnTurn,
    begin: async (stage) => {
      await ready(stage);
      const other = await stage.held(stage.bystander);
      return async () => {
        const both = stage.acquireAll(stage.subject, {}, () => new InterProcessSemaphore(stage.subject, stage.path, { maxLeases: 2 }).acquireMany(2));
        await waits(stage, both, 2);
        await stage.release(other);
        await releaseAll(stage, await both);
      };
    },
  },
  {
    name: 'a lease, behind somebody whose turn it is',
    frames: 30,
    kind: semaphore(1),
    begin: async (stage) => {
      await ready(stage);
      const first = await stage.held(stage.bystander);
      const second = stage.acquire(stage.bystander);
      await stage.wait('a waiter', async () => (await stage.queue('/leases')).length === 2);
      const [turn] = await stage.queue('/locks');
      return async () => {
        const acquiring = stage.acquire(stage.subject);
        await stage.parked(acquiring, [turn?.path ?? '', `${stage.path}/leases`], { folder: '/locks' });
        const past = stage.wire.frames.length;
        await stage.release(first);
        // Whose turn is taken away comes after the client.
        const released = second.then(async (hold) => {
          await waits(stage, acquiring, 1, past);
          await stage.release(hold);
        });
        await acquireAndRelease(stage, acquiring);
        await released;
      };
    },
  },
  {
    name: 'a lease that somebody waits for elsewhere',
    frames: 3,
    kind: semaphore(1),
    isByClock: isWatchOnTurn,
    begin: async (stage) => {
      await ready(stage);
      const hold = await stage.held(stage.subject);
      const next = stage.acquire(stage.bystander);
      await stage.wait('a waiter', async () => (await stage.queue()).length === 2);
      return async () => {
        await stage.release(hold);
        await stage.release(await next);
      };
    },
  },
  {
    name: 'a wait for a lease that times out',
    frames: 18,
    kind: semaphore(1),
    isByClock: isWatchOnTurn,
    begin: async (stage) => {
      await ready(stage);
      const other = await stage.held(stage.bystander);
      return async () => {
        await stage.release(await stage.acquire(stage.subject, { timeoutMs: sessionTimeoutMs / 8 }));
        await stage.wait('its own znodes are gone', async () => [...(await stage.queue('/leases')), ...(await stage.queue('/locks'))].every(({ isSubjects }) => !isSubjects));
        await stage.release(other);
      };
    },
  },
  {
    name: 'tryAcquire of a free lease',
    frames: 15,
    kind: semaphore(2),
    isByClock: isWatchOnTurn,
    begin: async (stage) => {
      await ready(stage);
      const other = await stage.held(stage.bystander);
      return async () => {
        await acquireAndRelease(stage, stage.tryAcquire(stage.subject));
        await stage.release(other);
      };
    },
  },
  {
    name: 'tryAcquire beside somebody who waits elsewhere, and one when nobody does',
    frames: 18,
    kind: semaphore(1),
    isByClock: isWatchOnTurn,
    begin: async (stage) => {
      await ready(stage);
      const first = await stage.held(stage.bystander);
      const second = stage.acquire(stage.bystander);
      await stage.wait('a waiter', async () => (await stage.queue('/leases')).length === 2);
      return async () => {
        const none = await stage.tryAcquire(stage.subject);
        if (none) stage.complaints.push('a tryAcquire has overtaken who waits');
        await stage.release(none);
        await stage.release(first);
        await stage.release(await second);
        await acquireAndRelease(stage, stage.tryAcquire(stage.subject));
      };
    },
  },
  {
    name: 'a lease more than there were',
    frames: 25,
    kind: sharedSemaphore,
    isByClock: isWatchOnTurn,
    begin: async (stage) => {
      const { outside } = stage.theatre;
      const count = countPath(stage.path);
      await outside.create(count.slice(0, count.lastIndexOf('/')));
      await outside.create(count);
      await outside.write(count, countOf(1));
      stage.owners.most = 1;
      await ready(stage);
      const other = await stage.held(stage.bystander);
      return async () => {
        const acquiring = stage.acquire(stage.subject);
        await waits(stage, acquiring, 1);
        stage.owners.most = 2;
        await outside.write(count, countOf(2));
        await acquireAndRelease(stage, acquiring);
        await stage.release(other);
      };
    },
  },
];

/** A first fault is part of the scenario; the second one happens to what mends the first. */
const recoveries: readonly Scenario[] = [
  {
    name: 'a waiter for a lease that reconnects',
    frames: 20,
    heartbeats: 2,
    kind: semaphore(1),
    isByClock: isWatchOnTurn,
    begin: async (stage) => {
      await ready(stage);
      const { other, acquiring } = await waitingForLease(stage);
      stage.wire.proxy.cut();
      const before = stage.wire.saw('server', 'sync');
      return async () => {
        let isSettled = false;
        void acquiring.then(() => (isSettled = true));
        await stage.wait('the new connection proven', () => isSettled || stage.wire.saw('server', 'sync') > before);
        await stage.release(other);
        await acquireAndRelease(stage, acquiring);
      };
    },
  },
  {
    name: 'a waiter for a lease whose session has expired',
    frames: 25,
    heartbeats: 2,
    kind: semaphore(1),
    isByClock: isWatchOnTurn,
    begin: async (stage) => {
      await ready(stage);
      const { other, acquiring } = await waitingForLease(stage);
      await stage.wire.proxy.refuse();
      await stage.theatre.outside.endSession(stage.subject);
      await stage.wait('its znode is gone', async () => (await stage.queue()).length === 1);
      return async () => {
        const past = stage.wire.frames.length;
        await stage.wire.proxy.accept();
        await waits(stage, acquiring, 1, past);
        await stage.release(other);
        await acquireAndRelease(stage, acquiring);
      };
    },
  },
];

export const semaphoreScenarios: readonly Scenario[] = [...plays, ...recoveries];

/** The turn is over within moments: its watch goes out after ten milliseconds, if it lasts so long. */
function isWatchOnTurn({ op, path }: Frame): boolean {
  return (op === 'getData' || op === 'watch') && path?.includes('/locks/') === true;
}

/** Waits until the client under test has so many leases, the last of which it may not have yet, or has settled. */
async function waits(stage: Stage, acquiring: Promise<unknown>, leases: number, past = stage.wire.frames.length): Promise<void> {
  await stage.parked(acquiring, [`${stage.path}/leases`], { past, places: leases });
}

async function waitingForLease(stage: Stage): Promise<{ readonly other: Hold; readonly acquiring: Promise<Hold | undefined> }> {
  const other = await stage.held(stage.bystander);
  const acquiring = stage.acquire(stage.subject);
  await waits(stage, acquiring, 1);
  // Else the next connection may have one watch less to ask for.
  const [turn] = await stage.queue('/locks');
  await stage.parked(acquiring, [turn?.path ?? ''], { past: 0, folder: '/locks' });
  return { other, acquiring };
}

async function releaseAll(stage: Stage, holds: readonly Hold[]): Promise<void> {
  for (const hold of holds) await stage.watched(hold);
  for (const hold of holds) await stage.release(hold);
}

/** As Curator's SharedCount writes it. */
function countOf(leases: number): string {
  return `\0\0\0${String.fromCharCode(leases)}`;
}
