import { aborted } from '../../lab/until.ts';
import { answered, sent } from '../../lab/proxy/frame-matches.ts';
import type { Scenario } from './scenario.ts';
import { acquireAndRelease, heldBeforeWaiter, ready, scene, waitingBehindHolder } from './steps.ts';

/** The first fault is part of the scenario; the second fault happens to the recovery from the first. */
export const recoveries: readonly Scenario[] = [
  scene('a create whose reply was lost', { frames: 19 }, async (run) => {
    const cut = new Promise<void>((resolve) => run.wire.once(answered('create2'), () => (resolve(), 'cut')));
    const acquiring = run.acquire(run.subject);
    await run.track('the cut', cut);
    return () => acquireAndRelease(run, acquiring);
  }),
  scene('a create that was lost', { frames: 19 }, async (run) => {
    const cut = new Promise<void>((resolve) => run.wire.once(sent('create2'), () => (resolve(), 'cut')));
    const acquiring = run.acquire(run.subject);
    await run.track('the cut', cut);
    return () => acquireAndRelease(run, acquiring);
  }),
  scene('a delete that was lost', { frames: 11 }, async (run) => {
    const hold = await run.held(run.subject);
    const cut = new Promise<void>((resolve) => run.wire.once(sent('delete'), () => (resolve(), 'cut')));
    const releasing = run.release(hold);
    await run.track('the cut', cut);
    // A session that holds nothing may be quiet again before the server takes its proofs. Then it pings.
    const served = (): number => run.wire.saw('server', 'sync') + run.wire.saw('server', 'ping');
    const before = served();
    return async () => {
      await releasing;
      await run.wait('the new connection served', () => served() > before);
    };
  }),
  scene('a waiter that reconnects', { frames: 14 }, async (run) => {
    const { gate, acquiring } = await waitingBehindHolder(run);
    run.wire.proxy.cut();
    const before = run.wire.saw('server', 'sync');
    return async () => {
      let isSettled = false;
      void acquiring.then(() => (isSettled = true));
      await run.wait('the new connection proven', () => isSettled || run.wire.saw('server', 'sync') > before);
      await run.release(gate);
      await run.release(await acquiring);
    };
  }),
  scene('a holder that reconnects, with a waiter behind', { frames: 11 }, async (run) => {
    const { hold, next } = await heldBeforeWaiter(run);
    run.wire.proxy.cut();
    const before = run.wire.saw('server', 'sync');
    return async () => {
      await run.wait('the new connection proven', () => run.wire.saw('server', 'sync') > before);
      await run.release(hold);
      await run.release(await next);
    };
  }),
  scene('a waiter whose session has expired', { frames: 20 }, async (run) => {
    const { gate, acquiring } = await waitingBehindHolder(run);
    await run.wire.proxy.refuse();
    run.expire();
    await run.wait('its znode is gone', () => run.queue().length === 1);
    return async () => {
      const past = run.wire.frames.length;
      await run.wire.proxy.accept();
      await run.untilWaiting(acquiring, [gate.path], { past });
      await run.release(gate);
      await run.release(await acquiring);
    };
  }),
  scene('a hold lost by silence, and the session behind it', { frames: 15 }, async (run) => {
    const { hold, next } = await heldBeforeWaiter(run);
    run.wire.proxy.silence();
    await run.track('the loss of a hold', aborted(hold.signal));
    run.wire.proxy.cut();
    return async () => {
      run.wire.proxy.speak();
      await run.release(hold);
      await run.release(await next);
      await acquireAndRelease(run, run.acquire(run.subject));
    };
  }),
  {
    name: 'a holder whose list of servers changes in an outage, with a waiter behind',
    frames: 11,
    members: 3,
    begin: async (run) => {
      const [old, ...others] = run.wire.proxies.map(({ connectString }) => connectString);
      let list = String(old);
      await ready(run, { servers: () => Promise.resolve(list) });
      const { hold, next } = await heldBeforeWaiter(run);
      await run.wire.proxy.refuse();
      run.wire.proxy.cut();
      await run.wait('the outage', () => !run.subject.session.isConnected);
      const before = run.wire.saw('server', 'sync');
      return async () => {
        list = others.join(',');
        await run.wait('the new connection proven', () => run.wire.saw('server', 'sync') > before);
        await run.release(hold);
        await run.release(await next);
      };
    },
  },
  {
    name: 'a grant that has to be proven first',
    frames: 6,
    begin: async (run) => {
      await ready(run, { knowsTick: false });
      const { gate, acquiring } = await waitingBehindHolder(run);
      const late = new Promise<void>((resolve) => {
        run.wire.once(answered('multi'), () => {
          const proofIsOld = run.wait('the proof is old', () => run.subject.session.needsProof());
          resolve();
          return { delayUntil: proofIsOld.then(() => run.release(gate)) };
        });
      });
      await run.track('a heartbeat that is answered late', late);
      return async () => run.release(await acquiring);
    },
  },
];
