import { LockError, type Hold } from '../../src/index.ts';
import { leaseScenarios } from './lease-scenarios.ts';
import { readWriteScenarios } from './read-write-scenarios.ts';
import { recoveries } from './recoveries.ts';
import type { Scenario } from './scenario.ts';
import { semaphoreScenarios } from './semaphore-scenarios.ts';
import { stickyScenarios } from './sticky-scenarios.ts';
import { acquireAndRelease, deleted, heldBeforeWaiter, ready, waitingBehindHolder } from './steps.ts';
import { sessionTimeoutMs } from './theatre.ts';
import { weightedScenarios } from './weighted-scenarios.ts';

const plays: readonly Scenario[] = [
  {
    name: 'connect',
    frames: 6,
    heartbeats: 2,
    begin: async (stage) => async () => {
      try {
        await stage.connect({ connectionTimeoutMs: 3 * sessionTimeoutMs });
      } catch (error) {
        if (!(error instanceof LockError) || error.code !== 'ERR_LOCK_CONNECTION_TIMEOUT') stage.complaints.push(`connect rejected: ${String(error)}`);
        return;
      }
      await stage.wait('a heartbeat', () => stage.wire.saw('server', 'sync') > 0);
    },
  },
  {
    name: 'first acquire, parents missing',
    frames: 19,
    depth: 'a/b',
    begin: async (stage) => {
      await stage.connect();
      return () => acquireAndRelease(stage, stage.acquire(stage.subject));
    },
  },
  {
    name: 'acquire and release',
    frames: 9,
    begin: async (stage) => {
      await ready(stage);
      return () => acquireAndRelease(stage, stage.acquire(stage.subject));
    },
  },
  {
    name: 'acquire with a timeout',
    frames: 9,
    begin: async (stage) => {
      await ready(stage);
      return () => acquireAndRelease(stage, stage.acquire(stage.subject, { timeoutMs: sessionTimeoutMs / 2 }));
    },
  },
  {
    name: 'acquire behind a holder',
    frames: 12,
    begin: async (stage) => {
      await ready(stage);
      const gate = await stage.held(stage.bystander);
      return async () => {
        const acquiring = stage.acquire(stage.subject);
        await stage.parked(acquiring, [gate.path]);
        await stage.release(gate);
        await stage.release(await acquiring);
      };
    },
  },
  {
    name: 'acquire behind a waiter that gives up',
    frames: 17,
    begin: async (stage) => {
      await ready(stage);
      const gate = await stage.held(stage.bystander);
      const controller = new AbortController();
      const middle = stage.acquire(stage.bystander, { signal: controller.signal });
      await stage.wait('a waiter', async () => (await stage.queue()).length === 2);
      const [, waiter] = await stage.queue();
      return async () => {
        const acquiring = stage.acquire(stage.subject);
        await stage.parked(acquiring, [waiter?.path ?? '', gate.path]);
        controller.abort();
        await middle;
        await stage.parked(acquiring, [gate.path], { past: 0 });
        await stage.release(gate);
        await stage.release(await acquiring);
      };
    },
  },
  {
    name: 'tryAcquire of a free lock',
    frames: 13,
    begin: async (stage) => {
      await ready(stage);
      return () => acquireAndRelease(stage, stage.tryAcquire(stage.subject));
    },
  },
  {
    name: 'tryAcquire of a held lock',
    frames: 4,
    begin: async (stage) => {
      await ready(stage);
      const gate = await stage.held(stage.bystander);
      return async () => {
        await stage.release(await stage.tryAcquire(stage.subject));
        await stage.release(gate);
      };
    },
  },
  {
    name: 'tryAcquire, overtaken after its look',
    frames: 10,
    begin: async (stage) => {
      await ready(stage);
      return async () => {
        let overtaking: Promise<Hold | undefined> = Promise.resolve(undefined);
        stage.wire.once('client', 'create2', () => ({ delayUntil: (overtaking = stage.acquire(stage.bystander)) }));
        await stage.release(await stage.tryAcquire(stage.subject));
        await stage.release(await overtaking);
        await deleted(stage);
      };
    },
  },
  {
    name: 'acquire that times out',
    frames: 13,
    begin: async (stage) => {
      await ready(stage);
      const gate = await stage.held(stage.bystander);
      return async () => {
        await stage.release(await stage.acquire(stage.subject, { timeoutMs: sessionTimeoutMs / 8 }));
        await deleted(stage);
        await stage.release(gate);
      };
    },
  },
  {
    name: 'acquire that is aborted before its create is answered',
    frames: 6,
    begin: async (stage) => {
      await ready(stage);
      return async () => {
        const controller = new AbortController();
        const sent = stage.wire.proxy.seen((frame) => frame.from === 'client' && frame.op === 'create2', stage.wire.saw('client', 'create2') + 1);
        const acquiring = stage.acquire(stage.subject, { signal: controller.signal });
        await stage.track('its create', sent);
        controller.abort();
        await stage.release(await acquiring);
        await deleted(stage);
      };
    },
  },
  {
    name: 'hand-over to another client',
    frames: 3,
    begin: async (stage) => {
      await ready(stage);
      const { hold, next } = await heldBeforeWaiter(stage);
      return async () => {
        await stage.release(hold);
        await stage.release(await next);
      };
    },
  },
  {
    name: 'hand-over inside one process',
    frames: 12,
    begin: async (stage) => {
      await ready(stage);
      const hold = await stage.held(stage.subject);
      return async () => {
        const next = stage.acquire(stage.subject);
        await stage.parked(next, [], { places: 2 });
        await stage.release(hold);
        await stage.release(await next);
      };
    },
  },
  {
    name: 'heartbeats while held, with a waiter behind',
    frames: 11,
    heartbeats: 2,
    begin: async (stage) => {
      await ready(stage);
      const { hold, next } = await heldBeforeWaiter(stage);
      const past = stage.wire.saw('server', 'sync');
      await stage.wait('the end of a heartbeat', () => stage.wire.saw('server', 'sync') > past);
      const before = stage.wire.saw('server', 'sync');
      return async () => {
        await stage.wait('two heartbeats', () => stage.wire.saw('server', 'sync') >= before + 2);
        await stage.release(hold);
        await stage.release(await next);
      };
    },
  },
  {
    name: 'close while held',
    frames: 3,
    isPrompt: true,
    begin: async (stage) => {
      await ready(stage);
      const { hold, next } = await heldBeforeWaiter(stage);
      return async () => {
        await stage.close();
        await stage.release(await next);
        await stage.release(hold);
      };
    },
  },
  {
    name: 'close while waiting',
    frames: 5,
    isPrompt: true,
    begin: async (stage) => {
      await ready(stage);
      const { gate, acquiring } = await waitingBehindHolder(stage);
      return async () => {
        await stage.close();
        await stage.release(await acquiring);
        await stage.release(gate);
      };
    },
  },
];

export const scenarios: readonly Scenario[] = [...plays, ...stickyScenarios, ...leaseScenarios, ...recoveries, ...readWriteScenarios, ...semaphoreScenarios, ...weightedScenarios];
