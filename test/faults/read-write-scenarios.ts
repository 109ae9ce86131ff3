import { InterProcessReadWriteLock, lockContext, type Hold, type LockClient } from '../../src/index.ts';
import { isDowngrade } from './frame-key.ts';
import { readWrite, type Lock } from './kinds.ts';
import type { Scenario } from './scenario.ts';
import type { Stage } from './stage.ts';
import { acquireAndRelease, queued, ready } from './steps.ts';

const plays: readonly Scenario[] = [
  {
    name: 'a reader beside another one',
    frames: 9,
    begin: async (stage) => {
      await ready(stage);
      const other = await stage.held(stage.bystander, readLock(stage, stage.bystander));
      return async () => {
        await acquireAndRelease(stage, stage.acquire(stage.subject, {}, readLock(stage, stage.subject)));
        await stage.release(other);
      };
    },
  },
  {
    name: 'a reader behind a writer',
    frames: 14,
    begin: async (stage) => {
      await ready(stage);
      const writer = await stage.held(stage.bystander);
      return async () => {
        const acquiring = stage.acquire(stage.subject, {}, readLock(stage, stage.subject));
        await stage.parked(acquiring, [writer.path]);
        await stage.release(writer);
        await stage.release(await acquiring);
      };
    },
  },
  {
    name: 'a writer behind two readers',
    frames: 19,
    begin: async (stage) => {
      await ready(stage);
      const lock = readLock(stage, stage.bystander);
      const [first, second] = [await stage.held(stage.bystander, lock), await stage.held(stage.bystander, lock)];
      return async () => {
        const acquiring = stage.acquire(stage.subject);
        await stage.parked(acquiring, [second.path, first.path]);
        await stage.release(second);
        await stage.parked(acquiring, [first.path], { past: 0 });
        await stage.release(first);
        await stage.release(await acquiring);
      };
    },
  },
  {
    name: 'a reader before a writer elsewhere',
    frames: 3,
    begin: async (stage) => {
      await ready(stage);
      const reader = await stage.held(stage.subject, readLock(stage, stage.subject));
      const next = stage.acquire(stage.bystander);
      await queued(stage, next);
      return async () => {
        await stage.release(reader);
        await stage.release(await next);
      };
    },
  },
  {
    name: 'a writer before readers here and elsewhere',
    frames: 14,
    begin: async (stage) => {
      await ready(stage);
      const writer = await stage.held(stage.subject);
      const elsewhere = stage.acquire(stage.bystander, {}, readLock(stage, stage.bystander));
      await queued(stage, elsewhere);
      return async () => {
        const here = stage.acquire(stage.subject, {}, readLock(stage, stage.subject));
        await stage.parked(here, [], { places: 2 });
        await stage.release(writer);
        await stage.release(await here);
        await stage.release(await elsewhere);
      };
    },
  },
  {
    name: 'a writer that goes over to reading, before a writer elsewhere',
    frames: 16,
    begin: async (stage) => {
      await ready(stage);
      const rw = new InterProcessReadWriteLock(stage.subject, stage.path);
      return () =>
        lockContext.run(async () => {
          const writing = await stage.acquire(stage.subject, {}, rw.writeLock);
          await stage.watched(writing);
          const next = stage.acquire(stage.bystander);
          await queued(stage, next);
          if (writing) stopsWhenLost(stage, writing);
          const reading = writing && (await stage.acquire(stage.subject, {}, rw.readLock));
          await stage.watched(reading);
          await stage.release(writing);
          await stage.release(reading);
          await stage.release(await next);
        });
    },
  },
  {
    name: 'a writer that goes over to reading, whose answer was lost',
    frames: 20,
    heartbeats: 2,
    begin: async (stage) => {
      await ready(stage);
      const rw = new InterProcessReadWriteLock(stage.subject, stage.path);
      const cut = new Promise<void>((resolve) => stage.wire.onceAnswered(isDowngrade, () => (resolve(), 'cut')));
      const both = lockContext.run(async () => {
        const writing = await stage.held(stage.subject, rw.writeLock);
        stopsWhenLost(stage, writing);
        const next = stage.acquire(stage.bystander);
        await queued(stage, next);
        return { writing, next, reading: await stage.acquire(stage.subject, {}, rw.readLock) };
      });
      await stage.track('the cut', cut);
      return async () => {
        const { writing, next, reading } = await both;
        await stage.watched(reading);
        await stage.release(writing);
        await stage.release(reading);
        await stage.release(await next);
      };
    },
  },
];

export const readWriteScenarios: readonly Scenario[] = plays.map((play) => ({ ...play, kind: readWrite }));

/** What it protects has to stop: there is nothing to go over from. */
function stopsWhenLost(stage: Stage, writing: Hold): void {
  const isLost = (): void => void stage.permitted.add('ERR_LOCK_LOST');
  writing.signal.addEventListener('abort', isLost);
  if (!writing.isValid) isLost();
}

function readLock(stage: Stage, client: LockClient): Lock {
  return new InterProcessReadWriteLock(client, stage.path).readLock;
}
