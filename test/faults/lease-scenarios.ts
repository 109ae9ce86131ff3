import type { Scenario } from './scenario.ts';
import { queued, scene } from './steps.ts';

/** The lease lasts until a bystander waits, because an earlier end would send other frames. */
const longMs = 60_000;
const leaseMs = 100;

/** Jobs that never release: their locks pass to the next waiter at the end of the lease. */
export const leaseScenarios: readonly Scenario[] = [
  scene('a lease that ends while its job hangs and a bystander waits', { frames: 7 }, (run) => async () => {
    const hung = await run.acquire(run.subject, { leaseMs: longMs });
    const next = run.acquire(run.bystander);
    await queued(run, next);
    if (hung?.isValid) hung.renew(leaseMs);
    await run.release(await next);
    await run.release(hung);
  }),
  scene('a lease that ends while the next waiter is of the same client', { frames: 10 }, (run) => async () => {
    const hung = await run.acquire(run.subject, { leaseMs: longMs });
    let isSettled = false;
    const next = run.acquire(run.subject).finally(() => (isSettled = true));
    await run.wait('a waiter behind it', () => isSettled || !hung?.isValid || run.queue().length === 2);
    if (hung?.isValid) hung.renew(leaseMs);
    await run.release(await next);
    await run.release(hung);
  }),
  scene('a release that is not waited for, before the next acquire', { frames: 7 }, (run) => async () => {
    await run.release(await run.acquire(run.subject, { releaseTimeoutMs: 0 }));
    await run.release(await run.acquire(run.subject, { releaseTimeoutMs: 50 }));
  }),
];
