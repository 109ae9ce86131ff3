import { forceRelease, InterProcessMutex, LockError, revoke, watchQueue } from '../../src/index.ts';
import { ageMs, sessionTimeoutMs, type CaseRun } from './case-run.ts';
import { sleep } from '../../lab/world.ts';
import { multiLock } from './lock-kinds.ts';
import type { Scenario } from './scenario.ts';
import { scene, waitingBehindHolder } from './steps.ts';

/** Requests to release, locks that are taken by force, queues that are watched, and locks that are acquired together. */
export const askingScenarios: readonly Scenario[] = [
  scene('a holder that is asked to release', { frames: 6 }, async (run) => {
    const mutex = new InterProcessMutex(run.subject, run.path);
    let isAsked = false;
    mutex.makeRevocable(() => (isAsked = true));
    const hold = await run.held(run.subject, mutex);
    const next = run.acquire(run.bystander);
    return async () => {
      await revoke(run.bystander, hold.path);
      await learns(run, 'the request', () => isAsked || !hold.isValid);
      await run.release(hold);
      await run.release(await next);
    };
  }),
  scene('a client that asks a holder to release', { frames: 6 }, async (run) => {
    const mutex = new InterProcessMutex(run.bystander, run.path);
    let isAsked = false;
    mutex.makeRevocable(() => (isAsked = true));
    const hold = await run.held(run.bystander, mutex);
    return async () => {
      if (await answered(run, 'a revoke', revoke(run.subject, hold.path))) await run.wait('the request', () => isAsked);
      await run.release(hold);
    };
  }),
  scene('a holder whose lock is taken by force', { frames: 6 }, async (run) => {
    const hold = await run.held(run.subject);
    const next = run.acquire(run.bystander);
    return async () => {
      const forced = forceRelease(run.bystander, hold.path, { timeoutMs: ageMs });
      await learns(run, 'the loss', () => !hold.isValid);
      await run.release(hold);
      await run.track('a forced release', forced);
      await run.release(await next);
    };
  }),
  scene('a waiter that takes the lock by force', { frames: 16 }, async (run) => {
    const { gate, acquiring } = await waitingBehindHolder(run);
    return async () => {
      const forcing = forceRelease(run.subject, gate.path, { timeoutMs: sessionTimeoutMs / 4 });
      const isForced = await answered(run, 'a forced release', forcing, gate.path);
      await sleep(noticeMs);
      if (isForced && gate.isValid) run.warnings.push('the holder is valid after a forced release');
      await run.release(gate);
      await run.release(await acquiring);
    };
  }),
  scene('a queue that is watched', { frames: 14 }, (run) => async () => {
    const aborter = new AbortController();
    let newest: string | undefined;
    const watching = async (): Promise<void> => {
      for await (const { holder } of watchQueue(run.subject, run.path, { signal: aborter.signal }))
        newest = holder?.path ?? 'free';
    };
    const watched = answered(run, 'a watched queue', watching());
    await run.waitWhile(watched, 'the queue', () => newest === 'free');
    const hold = await run.held(run.bystander);
    await run.waitWhile(watched, 'the holder', () => newest === hold.path);
    await run.release(hold);
    await run.waitWhile(watched, 'the free lock', () => newest === 'free');
    aborter.abort();
    await watched;
  }),
  scene('two locks at once', { frames: 18, kind: multiLock }, (run) => async () => releaseAll(run, acquireBoth(run))),
  scene('two locks at once, one of which another client holds', { frames: 20, kind: multiLock }, async (run) => {
    const other = await run.held(run.bystander, new InterProcessMutex(run.bystander, `${run.path}-second`));
    return async () => {
      const both = acquireBoth(run);
      await run.untilWaiting(both, [other.path], { folder: '-second' });
      await run.release(other);
      await releaseAll(run, both);
    };
  }),
];

/** A holder that the server does not let read its own znode learns nothing. */
function learns(run: CaseRun, what: string, look: () => boolean): Promise<void> {
  return run.wait(what, () => look() || run.permitted.has('ERR_LOCK_REQUEST_FAILED'));
}

/** A holder that has just been granted the lock watches its znode soon. */
const noticeMs = 150;

/** Resolves with true if the servers have done what the client asked for. They may not do it in time, or refuse because its znode is gone. */
async function answered(run: CaseRun, what: string, asking: Promise<unknown>, path = run.path): Promise<boolean> {
  try {
    await run.track(what, run.unlessCrashed(asking));
    return !run.isCrashed;
  } catch (error) {
    const isGone = !run.servers.exists(path);
    if (!(error instanceof LockError) || (error.code !== 'ERR_LOCK_TIMEOUT' && !isGone)) run.judge(what, error);
    return false;
  }
}

function acquireBoth(run: CaseRun): ReturnType<CaseRun['acquireAll']> {
  // The first hold may be lost while the call waits for the second one.
  run.permitted.add('ERR_LOCK_LOST');
  return run.acquireAll(run.subject, {}, (options) => run.kind.acquireAll(run.subject, run.path, options));
}

async function releaseAll(run: CaseRun, acquiring: ReturnType<CaseRun['acquireAll']>): Promise<void> {
  const holds = await acquiring;
  for (const hold of holds) await run.watched(hold);
  for (const hold of holds) await run.release(hold);
}
