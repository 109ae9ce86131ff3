import { InterProcessReadWriteLock, lockContext, type Hold, type LockClient } from '../../src/index.ts';
import { isDowngrade } from './frame-key.ts';
import { readWrite, type Lock } from './lock-kinds.ts';
import type { Scenario } from './scenario.ts';
import type { CaseRun } from './case-run.ts';
import { acquireAndRelease, queued, scene } from './steps.ts';

const plays: readonly Scenario[] = [
  scene('a reader while another reader holds', { frames: 9 }, async (run) => {
    const other = await run.held(run.bystander, readLock(run, run.bystander));
    return async () => {
      await acquireAndRelease(run, run.acquire(run.subject, {}, readLock(run, run.subject)));
      await run.release(other);
    };
  }),
  scene('a reader behind a writer', { frames: 14 }, async (run) => {
    const writer = await run.held(run.bystander);
    return async () => {
      const acquiring = run.acquire(run.subject, {}, readLock(run, run.subject));
      await run.untilWaiting(acquiring, [writer.path]);
      await run.release(writer);
      await run.release(await acquiring);
    };
  }),
  scene('a writer behind two readers', { frames: 19 }, async (run) => {
    const lock = readLock(run, run.bystander);
    const [first, second] = [await run.held(run.bystander, lock), await run.held(run.bystander, lock)];
    return async () => {
      const acquiring = run.acquire(run.subject);
      await run.untilWaiting(acquiring, [second.path, first.path]);
      await run.release(second);
      await run.untilWaiting(acquiring, [first.path], { past: 0 });
      await run.release(first);
      await run.release(await acquiring);
    };
  }),
  scene('a reader before a writer of another client', { frames: 3 }, async (run) => {
    const reader = await run.held(run.subject, readLock(run, run.subject));
    const next = run.acquire(run.bystander);
    await queued(run, next);
    return async () => {
      await run.release(reader);
      await run.release(await next);
    };
  }),
  scene('a writer before readers of the same and of another client', { frames: 14 }, async (run) => {
    const writer = await run.held(run.subject);
    const elsewhere = run.acquire(run.bystander, {}, readLock(run, run.bystander));
    await queued(run, elsewhere);
    return async () => {
      const here = run.acquire(run.subject, {}, readLock(run, run.subject));
      await run.untilWaiting(here, [], { places: 2 });
      await run.release(writer);
      await run.release(await here);
      await run.release(await elsewhere);
    };
  }),
  scene('a writer that downgrades before a writer of another client', { frames: 16 }, (run) => {
    const rw = new InterProcessReadWriteLock(run.subject, run.path);
    return () =>
      lockContext.run(async () => {
        const writing = await run.acquire(run.subject, {}, rw.writeLock);
        await run.watched(writing);
        const next = run.acquire(run.bystander);
        await queued(run, next);
        if (writing) stopsWhenLost(run, writing);
        const reading = writing && (await run.acquire(run.subject, {}, rw.readLock));
        await run.watched(reading);
        await run.release(writing);
        await run.release(reading);
        await run.release(await next);
      });
  }),
  scene('a writer that downgrades and whose answer was lost', { frames: 20 }, async (run) => {
    const rw = new InterProcessReadWriteLock(run.subject, run.path);
    const cut = new Promise<void>((resolve) => run.wire.onceAnswered(isDowngrade, () => (resolve(), 'cut')));
    const both = lockContext.run(async () => {
      const writing = await run.held(run.subject, rw.writeLock);
      stopsWhenLost(run, writing);
      const next = run.acquire(run.bystander);
      await queued(run, next);
      return { writing, next, reading: await run.acquire(run.subject, {}, rw.readLock) };
    });
    await run.track('the cut', cut);
    return async () => {
      const { writing, next, reading } = await both;
      await run.watched(reading);
      await run.release(writing);
      await run.release(reading);
      await run.release(await next);
    };
  }),
];

export const readWriteScenarios: readonly Scenario[] = plays.map((play) => ({ ...play, kind: readWrite }));

/** A lost writer has to stop, so an acquire of its read lock may reject with ERR_LOCK_LOST. */
function stopsWhenLost(run: CaseRun, writing: Hold): void {
  const isLost = (): void => void run.permitted.add('ERR_LOCK_LOST');
  writing.signal.addEventListener('abort', isLost);
  if (!writing.isValid) isLost();
}

function readLock(run: CaseRun, client: LockClient): Lock {
  return new InterProcessReadWriteLock(client, run.path).readLock;
}
