import { LockError, type Hold } from '../../src/index.ts';
import { sent } from '../../lab/proxy/frame-matches.ts';
import { electionScenarios } from './election-scenarios.ts';
import type { Scenario } from './scenario.ts';
import { acquireAndRelease, deleted, handOver, heldBeforeWaiter, scene, waitingBehindHolder } from './steps.ts';
import { sessionTimeoutMs } from './case-run.ts';

export const mutexScenarios: readonly Scenario[] = [
  {
    name: 'connect',
    frames: 6,
    begin: async (run) => async () => {
      try {
        await run.connect({ connectionTimeoutMs: 3 * sessionTimeoutMs });
      } catch (error) {
        if (!(error instanceof LockError) || error.code !== 'ERR_LOCK_CONNECTION_TIMEOUT')
          run.warnings.push(`connect rejected: ${String(error)}`);
        return;
      }
      // A proven session that reconnects is quiet, and sends no further sync.
      if (run.isCrashed) return;
      const { session } = run.subject;
      await run.wait('the proof', () => session.isProven && (session.epoch > 1 || run.wire.saw('client', 'sync') > 0));
    },
  },
  {
    name: 'first acquire, parents missing',
    frames: 19,
    depth: 'a/b',
    begin: async (run) => {
      await run.connect();
      return () => acquireAndRelease(run, run.acquire(run.subject));
    },
  },
  scene('acquire and release', { frames: 9 }, (run) => () => acquireAndRelease(run, run.acquire(run.subject))),
  scene(
    'acquire with a timeout',
    { frames: 9 },
    (run) => () => acquireAndRelease(run, run.acquire(run.subject, { timeoutMs: sessionTimeoutMs / 2 })),
  ),
  scene('acquire behind a holder', { frames: 12 }, async (run) => {
    const gate = await run.held(run.bystander);
    return async () => {
      const acquiring = run.acquire(run.subject);
      await run.untilWaiting(acquiring, [gate.path]);
      await run.release(gate);
      await run.release(await acquiring);
    };
  }),
  scene('acquire behind a waiter that gives up', { frames: 15 }, async (run) => {
    const gate = await run.held(run.bystander);
    const controller = new AbortController();
    const middle = run.acquire(run.bystander, { signal: controller.signal });
    await run.wait('a waiter', () => run.queue().length === 2);
    const [, waiter] = run.queue();
    return async () => {
      const acquiring = run.acquire(run.subject);
      await run.untilWaiting(acquiring, [waiter?.path ?? '', gate.path]);
      controller.abort();
      await middle;
      await run.untilWaiting(acquiring, [gate.path], { past: 0 });
      await run.release(gate);
      await run.release(await acquiring);
    };
  }),
  scene(
    'tryAcquire of a free lock',
    { frames: 13 },
    (run) => () => acquireAndRelease(run, run.tryAcquire(run.subject)),
  ),
  scene('tryAcquire of a held lock', { frames: 4 }, async (run) => {
    const gate = await run.held(run.bystander);
    return async () => {
      await run.release(await run.tryAcquire(run.subject));
      await run.release(gate);
    };
  }),
  scene('tryAcquire, with a create of another client after its list', { frames: 10 }, (run) => async () => {
    let overtaking: Promise<Hold | undefined> = Promise.resolve(undefined);
    run.wire.once(sent('create2'), () => ({ delayUntil: (overtaking = run.acquire(run.bystander)) }));
    await run.release(await run.tryAcquire(run.subject));
    await run.release(await overtaking);
    await deleted(run);
  }),
  scene('acquire that times out', { frames: 13 }, async (run) => {
    const gate = await run.held(run.bystander);
    return async () => {
      await run.release(await run.acquire(run.subject, { timeoutMs: sessionTimeoutMs / 4 }));
      await deleted(run);
      await run.release(gate);
    };
  }),
  scene('acquire that is aborted before its create is answered', { frames: 6 }, (run) => async () => {
    const controller = new AbortController();
    const sent = run.wire.proxy.seen(
      (frame) => frame.from === 'client' && frame.op === 'create2',
      run.wire.saw('client', 'create2') + 1,
    );
    const acquiring = run.acquire(run.subject, { signal: controller.signal });
    await run.track('its create', sent);
    controller.abort();
    await run.release(await acquiring);
    await deleted(run);
  }),
  {
    name: 'hand-over to another client',
    frames: 3,
    begin: handOver,
  },
  scene('hand-over inside one process', { frames: 12 }, async (run) => {
    const hold = await run.held(run.subject);
    return async () => {
      const next = run.acquire(run.subject);
      await run.untilWaiting(next, [], { places: 2 });
      await run.release(hold);
      await run.release(await next);
    };
  }),
  scene('heartbeats while held, with a waiter behind', { frames: 11 }, async (run) => {
    const { hold, next } = await heldBeforeWaiter(run);
    const past = run.wire.saw('server', 'sync');
    await run.wait('the end of a heartbeat', () => run.wire.saw('server', 'sync') > past);
    const before = run.wire.saw('server', 'sync');
    return async () => {
      // A session that lost its hold to a fault becomes quiet.
      await run.wait('two heartbeats', () => run.wire.saw('server', 'sync') >= before + 2 || !hold.isValid);
      await run.release(hold);
      await run.release(await next);
    };
  }),
  scene('close while held', { frames: 3, isPrompt: true }, async (run) => {
    const { hold, next } = await heldBeforeWaiter(run);
    return async () => {
      await run.close();
      await run.release(await next);
      await run.release(hold);
    };
  }),
  scene('close while waiting', { frames: 3, isPrompt: true }, async (run) => {
    const { gate, acquiring } = await waitingBehindHolder(run);
    return async () => {
      await run.close();
      await run.release(await acquiring);
      await run.release(gate);
    };
  }),
];

/** The faults of servers happen to these. */
const inEnsemble = new Set([
  'acquire and release',
  'acquire behind a holder',
  'hand-over to another client',
  'a campaign and a resignation',
  'a transaction of a holder',
]);

export const ensembleScenarios: readonly Scenario[] = [...mutexScenarios, ...electionScenarios]
  .filter(({ name }) => inEnsemble.has(name))
  .map((scenario) => ({ ...scenario, name: `${scenario.name}, with three servers`, members: 3 }));
