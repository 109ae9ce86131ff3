import { aborted } from '../support/until.ts';
import type { Scenario } from './scenario.ts';
import { acquireAndRelease, heldBeforeWaiter, ready, waitingBehindHolder } from './steps.ts';
import { sessionTimeoutMs } from './theatre.ts';

/** A first fault is part of the scenario; the second one happens to what mends the first. */
export const recoveries: readonly Scenario[] = [
  {
    name: 'a create whose reply was lost',
    frames: 19,
    heartbeats: 2,
    begin: async (stage) => {
      await ready(stage);
      const cut = new Promise<void>((resolve) => stage.wire.once('server', 'create2', () => (resolve(), 'cut')));
      const acquiring = stage.acquire(stage.subject);
      await stage.track('the cut', cut);
      return () => acquireAndRelease(stage, acquiring);
    },
  },
  {
    name: 'a create that was lost',
    frames: 19,
    heartbeats: 2,
    begin: async (stage) => {
      await ready(stage);
      const cut = new Promise<void>((resolve) => stage.wire.once('client', 'create2', () => (resolve(), 'cut')));
      const acquiring = stage.acquire(stage.subject);
      await stage.track('the cut', cut);
      return () => acquireAndRelease(stage, acquiring);
    },
  },
  {
    name: 'a delete that was lost',
    frames: 11,
    heartbeats: 2,
    begin: async (stage) => {
      await ready(stage);
      const hold = await stage.held(stage.subject);
      const cut = new Promise<void>((resolve) => stage.wire.once('client', 'delete', () => (resolve(), 'cut')));
      const releasing = stage.release(hold);
      await stage.track('the cut', cut);
      const before = stage.wire.saw('server', 'sync');
      return async () => {
        await releasing;
        await stage.wait('the new connection proven', () => stage.wire.saw('server', 'sync') > before);
      };
    },
  },
  {
    name: 'a waiter that reconnects',
    frames: 14,
    heartbeats: 2,
    begin: async (stage) => {
      await ready(stage);
      const { gate, acquiring } = await waitingBehindHolder(stage);
      stage.wire.proxy.cut();
      const before = stage.wire.saw('server', 'sync');
      return async () => {
        let isSettled = false;
        void acquiring.then(() => (isSettled = true));
        await stage.wait('the new connection proven', () => isSettled || stage.wire.saw('server', 'sync') > before);
        await stage.release(gate);
        await stage.release(await acquiring);
      };
    },
  },
  {
    name: 'a holder that reconnects, with a waiter behind',
    frames: 11,
    heartbeats: 2,
    begin: async (stage) => {
      await ready(stage);
      const { hold, next } = await heldBeforeWaiter(stage);
      stage.wire.proxy.cut();
      const before = stage.wire.saw('server', 'sync');
      return async () => {
        await stage.wait('the new connection proven', () => stage.wire.saw('server', 'sync') > before);
        await stage.release(hold);
        await stage.release(await next);
      };
    },
  },
  {
    name: 'a waiter whose session has expired',
    frames: 20,
    heartbeats: 2,
    begin: async (stage) => {
      await ready(stage);
      const { gate, acquiring } = await waitingBehindHolder(stage);
      await stage.wire.proxy.refuse();
      await stage.theatre.outside.endSession(stage.subject);
      await stage.wait('its znode is gone', async () => (await stage.queue()).length === 1);
      return async () => {
        const past = stage.wire.frames.length;
        await stage.wire.proxy.accept();
        await stage.parked(acquiring, [gate.path], { past });
        await stage.release(gate);
        await stage.release(await acquiring);
      };
    },
  },
  {
    name: 'a hold lost by silence, and the session behind it',
    frames: 15,
    begin: async (stage) => {
      await ready(stage);
      const { hold, next } = await heldBeforeWaiter(stage);
      stage.wire.proxy.silence();
      await stage.track('the loss of a hold', aborted(hold.signal));
      stage.wire.proxy.cut();
      return async () => {
        stage.wire.proxy.speak();
        await stage.release(hold);
        await stage.release(await next);
        await acquireAndRelease(stage, stage.acquire(stage.subject));
      };
    },
  },
  {
    name: 'a grant that has to be proven first',
    frames: 12,
    heartbeats: 2,
    begin: async (stage) => {
      await ready(stage, { knowsTick: false });
      const { gate, acquiring } = await waitingBehindHolder(stage);
      const late = new Promise<void>((resolve) => {
        stage.wire.once('server', 'multi', () => {
          const proofIsOld = stage.wait('the proof is old', () => stage.subject.session.deadline - stage.subject.clock.now() < sessionTimeoutMs / 5);
          resolve();
          return { delayUntil: proofIsOld.then(() => stage.release(gate)) };
        });
      });
      await stage.track('a heartbeat that is answered late', late);
      return async () => stage.release(await acquiring);
    },
  },
];
