import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { rejection, until } from '../../lab/until.ts';
import { queueReaches } from '../../lab/queue.ts';

describe('a waiter whose predecessor gives up', () => {
  const lab = labOfEachTest('moving-up', { server: 'own', proxy: true });

  for (const [where, number] of Object.entries({ another: 1, 'the same': 2 }))
    it(`in ${where} session waits behind the holder, and is not granted before the release`, async () => {
      const clients = [lab.other, await lab.connect({}, lab.connectString), lab.client];
      const [holder, predecessor, waiter] = [0, number, 2].map(
        (of) => new InterProcessMutex(clients[of] as LockClient, lab.path),
      ) as [InterProcessMutex, InterProcessMutex, InterProcessMutex];
      const hold = await holder.acquire();
      const controller = new AbortController();
      const givingUp = rejection(predecessor.acquire({ signal: controller.signal }));
      await queueReaches(holder, 2);
      let isGranted = false;
      const waiting = waiter.acquire().finally(() => (isGranted = true));
      await queueReaches(holder, 3);
      // Otherwise the waiter would have to list for its own znode.
      const own = (await waiter.participants())[2]?.path ?? '';
      await until(
        'the waiter watches its own znode',
        () => clients[2]?.session.watches.paths('data').includes(own) === true,
      );
      // One connection answers in order: the waiter has seen its predecessor, and that its own znode exists.
      await waiter.participants();
      lab.proxy.clear();
      controller.abort();
      await givingUp;
      if (where === 'another') {
        // The waiter watches the holder's znode already, and needs no list.
        await lab.proxy.seen((frame) => frame.op === 'watch');
        await waiter.participants();
      } else {
        await lab.proxy.seen((frame) => frame.from === 'client' && frame.op === 'getChildren2');
        await lab.proxy.seen(
          (frame) => isGranted || (frame.from === 'server' && frame.op === 'getData' && frame.path === hold.path),
        );
      }
      expect(isGranted).to.equal(false);
      expect(hold.isValid).to.equal(true);
      await hold.release();
      await (await waiting).release();
    });
});
